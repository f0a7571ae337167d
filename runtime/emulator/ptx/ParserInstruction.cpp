// runtime/emulator/ptx/ParserInstruction.cpp - labels, instructions, operands, name resolution.
#include "runtime/emulator/ptx/Parser.h"

namespace fovea::ptx {

void Parser::instruction() {
  Instruction in;
  in.line = tok.line;
  in.sourceFile = locFile;
  in.sourceLine = locLine;
  if (accept('@')) {
    in.guardNegated = accept('!');
    uint32_t reg;
    if (tok.kind != TokenKind::Word || !findRegister(tok.text, reg))
      fail("expected a predicate register after '@', found '" + std::string(tok.text.substr(0, 40)) + "'");
    if (fn->registers[reg].type != Type::Pred)
      fail("the guard '" + std::string(tok.text) + "' is not a predicate");
    in.guard = int32_t(reg);
    advance();
  }
  if (tok.kind != TokenKind::Word)
    fail(tok.kind == TokenKind::End ? "the text ends inside a function" : "expected an instruction, found '" + std::string(tok.text.substr(0, 40)) + "'");
  in.opcode = tok.text;
  advance();
  if (in.guard < 0 && tok.isPunct(':')) {
    advance();
    if (tok.isModifier(".branchtargets")) {
      advance();
      std::string table(in.opcode);
      fn->branchTargets[table];
      do {
        if (tok.kind != TokenKind::Word)
          fail("expected a label");
        pending.push_back({0, tok.text, scope, tok.line, table});
        advance();
      } while (accept(','));
      expect(';', "after .branchtargets");
      return;
    }
    if (tok.isModifier(".callprototype") || tok.isModifier(".calltargets")) {
      while (tok.kind != TokenKind::End && !tok.isPunct(';'))
        advance();
      expect(';', "after a call prototype");
      return;
    }
    if (!scopes[scope].labels.emplace(in.opcode, uint32_t(fn->labels.size())).second)
      fail("label '" + std::string(in.opcode) + "' is defined twice in one scope", in.line);
    fn->labels.push_back(int64_t(fn->body.size()));
    fn->labelNames.emplace_back(in.opcode);
    return;
  }
  while (tok.kind == TokenKind::Modifier) {
    in.modifiers.push_back(tok.text);
    advance();
  }
  if (!tok.isPunct(';')) {
    do
      in.operands.push_back(operand());
    while (accept(','));
  }
  if (!tok.isPunct(';'))
    fail("expected ',' or ';' after an operand of '" + std::string(in.opcode) + "', found " +
         (tok.kind == TokenKind::End ? std::string("the end of the text") : "'" + std::string(tok.text.substr(0, 40)) + "'"));
  advance();
  fn->body.push_back(std::move(in));
}

Operand Parser::operand(int depth) {
  Operand a = primary(depth);
  // LLVM also writes `%rd24+1024` where a plain register is asked for.
  while (a.kind == Operand::Register && !a.negated && (tok.isPunct('+') || tok.isPunct('-'))) {
    bool minus = tok.isPunct('-');
    advance();
    uint64_t v = uint64_t(constantTerm(depth));
    a.integer = int64_t(minus ? uint64_t(a.integer) - v : uint64_t(a.integer) + v);
  }
  if (tok.isPunct('|')) {
    advance();
    Operand pair;
    pair.kind = Operand::Pair;
    pair.parts.push_back(std::move(a));
    pair.parts.push_back(primary(depth));
    return pair;
  }
  return a;
}

void Parser::list(char close, std::vector<Operand> &into, int depth) {
  if (accept(close))
    return;
  do {
    into.push_back(operand(depth + 1));
    if (into.size() > 4096)
      fail("operand list is too long");
  } while (accept(','));
  expect(close, "after an operand list");
}

Operand Parser::primary(int depth) {
  if (depth > 6)
    fail("operands are nested too deeply");
  Operand o;
  if (accept('!')) {
    o = primary(depth + 1);
    o.negated = !o.negated;
    return o;
  }
  if (accept('{')) {
    o.kind = Operand::Vector;
    list('}', o.parts, depth);
    return o;
  }
  if (accept('[')) {
    return address(depth);
  }
  if (tok.isPunct('(') && depth == 0) {
    advance();
    o.kind = Operand::List;
    list(')', o.parts, depth);
    return o;
  }
  if (tok.kind == TokenKind::Word)
    return word();
  if (tok.kind == TokenKind::Float32 || tok.kind == TokenKind::Float64) {
    o.kind = tok.kind == TokenKind::Float32 ? Operand::Float32 : Operand::Float64;
    o.integer = int64_t(tok.integer);
    advance();
    return o;
  }
  if (tok.kind == TokenKind::String) {
    o.kind = Operand::String;
    o.text = tok.text;
    advance();
    return o;
  }
  if (tok.isPunct('-')) {
    advance();
    if (tok.kind == TokenKind::Float32 || tok.kind == TokenKind::Float64) {
      o = primary(depth + 1);
      o.integer ^= o.kind == Operand::Float32 ? int64_t(0x80000000u) : INT64_MIN;
      return o;
    }
    o.kind = Operand::Integer;
    o.integer = int64_t(0 - uint64_t(constantTerm(depth)));
    return o;
  }
  o.kind = Operand::Integer;
  // `d|p` never starts with a number, so a full constant expression is safe here.
  o.integer = constant();
  return o;
}

/// After '[': base with + - offsets, then further parts (coordinates in braces, mbarrier, …).
Operand Parser::address(int depth) {
  Operand o;
  o.kind = Operand::Address;
  do {
    Operand part = operand(depth + 1);
    while (tok.isPunct('+') || tok.isPunct('-')) {
      bool minus = tok.isPunct('-');
      advance();
      if (tok.kind == TokenKind::Word && tok.text != "WARP_SZ" && part.kind == Operand::Integer && !minus) {
        Operand base = word();
        base.integer += part.integer;
        part = std::move(base);
        continue;
      }
      uint64_t v = uint64_t(constantTerm(depth));
      part.integer = int64_t(minus ? uint64_t(part.integer) - v : uint64_t(part.integer) + v);
    }
    o.parts.push_back(std::move(part));
    if (o.parts.size() > 16)
      fail("address has too many parts");
  } while (accept(','));
  expect(']', "after an address");
  return o;
}

bool Parser::findRegister(std::string_view name, uint32_t &reg) {
  for (int s = scope; s >= 0; s = scopes[s].parent) {
    auto it = scopes[s].registers.find(name);
    if (it != scopes[s].registers.end()) {
      reg = it->second;
      return true;
    }
    if (scopes[s].ranges.empty())
      continue;
    size_t digits = name.size();
    while (digits > 1 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
      --digits;
    // `x1<4>` declares x10..x13: every split of the trailing digits may name the range.
    for (size_t cut = digits; cut < name.size(); ++cut) {
      if (name[cut] == '0' && cut + 1 < name.size())
        continue;
      auto range = scopes[s].ranges.find(name.substr(0, cut));
      if (range == scopes[s].ranges.end() || name.size() - cut > 10)
        continue;
      uint64_t n = 0;
      for (char c : name.substr(cut))
        n = n * 10 + uint64_t(c - '0');
      if (n >= range->second.count)
        fail("register '" + std::string(name) + "' is beyond its declaration <" + std::to_string(range->second.count) + ">");
      reg = newRegister(range->second.type, name);
      scopes[s].registers[name] = reg;
      return true;
    }
  }
  return false;
}

Operand Parser::word() {
  Operand o;
  std::string_view name = tok.text;
  int line = tok.line;
  if (name == "WARP_SZ") {
    o.kind = Operand::Integer;
    o.integer = 32;
    advance();
    return o;
  }
  if (name == "_") {
    o.kind = Operand::Sink;
    advance();
    return o;
  }
  advance();
  for (int s = scope; s >= 0; s = scopes[s].parent) {
    auto v = scopes[s].vectors.find(name);
    if (v == scopes[s].vectors.end())
      continue;
    if (tok.kind == TokenKind::Modifier && tok.text.size() == 2) {
      size_t i = std::string_view("xyzw").find(tok.text[1]);
      if (i == std::string_view::npos)
        i = std::string_view("rgba").find(tok.text[1]);
      if (i == std::string_view::npos || i >= v->second.size())
        fail("vector register '" + std::string(name) + "' has no component '" + std::string(tok.text) + "'");
      advance();
      o.kind = Operand::Register;
      o.reg = v->second[i];
    } else {
      o.kind = Operand::Vector;
      for (uint32_t r : v->second) {
        Operand e;
        e.kind = Operand::Register;
        e.reg = r;
        o.parts.push_back(e);
      }
    }
    return o;
  }
  if (findRegister(name, o.reg)) {
    o.kind = Operand::Register;
    o.text = name;
    return o;
  }
  if (name[0] == '%') {
    o.kind = Operand::Special;
    if (tok.kind == TokenKind::Modifier && tok.glued) {
      name = std::string_view(name.data(), size_t(tok.text.data() + tok.text.size() - name.data()));
      advance();
    }
    o.text = name;
    return o;
  }
  auto offset = [&] {
    while (tok.isPunct('+') || tok.isPunct('-')) {
      bool minus = tok.isPunct('-');
      advance();
      uint64_t v = uint64_t(constantTerm(0));
      o.integer = int64_t(minus ? uint64_t(o.integer) - v : uint64_t(o.integer) + v);
    }
  };
  for (int s = scope; s >= 0; s = scopes[s].parent) {
    auto v = scopes[s].variables.find(name);
    if (v != scopes[s].variables.end()) {
      o.kind = Operand::Symbol;
      o.reg = v->second;
      o.text = name;
      offset();
      return o;
    }
  }
  auto g = module.variableIndex.find(std::string(name));
  if (g != module.variableIndex.end()) {
    o.kind = Operand::Symbol;
    o.global = true;
    o.reg = g->second;
    o.text = name;
    offset();
    return o;
  }
  // A label (possibly a later one) or a function.
  o.kind = Operand::Name;
  o.text = name;
  pending.push_back({fn->body.size(), name, scope, line, ""});
  return o;
}

void Parser::resolveLabels() {
  auto find = [&](std::string_view name, int s, uint32_t &label) {
    for (; s >= 0; s = scopes[s].parent) {
      auto it = scopes[s].labels.find(name);
      if (it != scopes[s].labels.end()) {
        label = it->second;
        return true;
      }
    }
    return false;
  };
  for (const PendingLabel &p : pending) {
    uint32_t label = 0;
    bool found = find(p.name, p.scope, label);
    if (!p.table.empty()) {
      if (!found)
        fail("label '" + std::string(p.name) + "' is not defined", p.line);
      fn->branchTargets[p.table].push_back(label);
      continue;
    }
    if (!found)
      continue;  // a function's name, or an error that the decoder reports
    for (Operand &o : fn->body[p.instruction].operands)
      if (o.kind == Operand::Name && o.text == p.name) {
        o.kind = Operand::Label;
        o.reg = label;
      }
  }
}

} // namespace fovea::ptx
