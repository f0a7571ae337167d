// runtime/emulator/ptx/ParserData.cpp - variables, registers, initialisers, constant expressions.
#include "runtime/emulator/ptx/Parser.h"
#include <algorithm>
#include <cstring>

namespace fovea::ptx {

Type typeNamed(std::string_view m) {
  static const std::unordered_map<std::string_view, Type> table = {
      {".pred", Type::Pred}, {".b8", Type::B8}, {".b16", Type::B16}, {".b32", Type::B32}, {".b64", Type::B64},
      {".b128", Type::B128}, {".u8", Type::U8}, {".u16", Type::U16}, {".u32", Type::U32}, {".u64", Type::U64},
      {".s8", Type::S8}, {".s16", Type::S16}, {".s32", Type::S32}, {".s64", Type::S64}, {".f16", Type::F16},
      {".f16x2", Type::F16x2}, {".bf16", Type::BF16}, {".bf16x2", Type::BF16x2}, {".f32", Type::F32},
      {".f64", Type::F64}, {".f32x2", Type::F32x2}, {".tf32", Type::TF32}, {".u16x2", Type::U16x2},
      {".s16x2", Type::S16x2}, {".e4m3", Type::E4M3}, {".e5m2", Type::E5M2}, {".e4m3x2", Type::E4M3x2},
      {".e5m2x2", Type::E5M2x2}, {".e2m3x2", Type::E2M3x2}, {".e3m2x2", Type::E3M2x2}, {".e2m1x2", Type::E2M1x2},
      {".ue8m0x2", Type::UE8M0x2}, {".e4m3x4", Type::E4M3x4}, {".e5m2x4", Type::E5M2x4}, {".e2m3x4", Type::E2M3x4},
      {".e3m2x4", Type::E3M2x4}, {".e2m1x4", Type::E2M1x4}, {".b1024", Type::B1024}, {".e2m3", Type::E2M3},
      {".e3m2", Type::E3M2}, {".e2m1", Type::E2M1}, {".ue8m0", Type::UE8M0}, {".s4", Type::S4}, {".u4", Type::U4},
      {".s2", Type::S2}, {".u2", Type::U2},
      {".b1", Type::B1}};
  auto it = table.find(m);
  return it == table.end() ? Type::None : it->second;
}

std::string nearest(std::string_view word, const std::vector<std::string_view> &candidates) {
  word = word.substr(0, 64);
  std::string best;
  size_t bestDistance = std::max<size_t>(2, word.size() / 3) + 1;
  for (std::string_view c : candidates) {
    // Edit distance; two neighbouring letters that changed places count once.
    std::vector<size_t> before, last, row(c.size() + 1);
    for (size_t j = 0; j <= c.size(); ++j)
      row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      before = std::move(last);
      last = row;
      row[0] = i;
      for (size_t j = 1; j <= c.size(); ++j) {
        row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (word[i - 1] != c[j - 1])});
        if (i > 1 && j > 1 && word[i - 1] == c[j - 2] && word[i - 2] == c[j - 1])
          row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    if (row[c.size()] < bestDistance) {
      bestDistance = row[c.size()];
      best = c;
    }
  }
  return best;
}

uint32_t Parser::newRegister(Type t, std::string_view name) {
  if (fn->registers.size() >= (1u << 20))
    fail("function uses more than a million registers");
  fn->registers.push_back({t, std::string(name)});
  return uint32_t(fn->registers.size() - 1);
}

void Parser::registers() {
  int lanes = 1;
  if (tok.isModifier(".v2") || tok.isModifier(".v4")) {
    lanes = tok.text == ".v2" ? 2 : 4;
    advance();
  }
  if (tok.kind != TokenKind::Modifier || typeNamed(tok.text) == Type::None)
    fail("expected a register type, found '" + std::string(tok.text.substr(0, 40)) + "'");
  Type t = typeNamed(tok.text);
  advance();
  if (tok.isModifier(".v2") || tok.isModifier(".v4")) {
    lanes = tok.text == ".v2" ? 2 : 4;
    advance();
  }
  Scope &s = scopes[scope];
  do {
    if (tok.kind != TokenKind::Word)
      fail("expected a register name");
    std::string_view name = tok.text;
    advance();
    if (accept('<')) {
      uint64_t n = unsignedInt("the number of registers");
      expect('>', "after the number of registers");
      s.ranges[name] = {t, n};
    } else if (lanes > 1) {
      std::vector<uint32_t> &v = s.vectors[name];
      v.clear();
      for (int i = 0; i < lanes; ++i)
        v.push_back(newRegister(t, name));
    } else {
      s.registers[name] = newRegister(t, name);
    }
  } while (accept(','));
  expect(';', "after the register names");
}

void Parser::variable(Space space, const std::string &linkage) {
  Type type = Type::None;
  uint64_t align = 0, lanes = 1;
  while (tok.kind == TokenKind::Modifier) {
    std::string_view m = tok.text;
    advance();
    if (m == ".align")
      align = unsignedInt(".align");
    else if (m == ".v2" || m == ".v4" || m == ".v8")
      lanes = uint64_t(m[2] - '0');
    else if (m == ".attribute") {
      while (tok.kind != TokenKind::End && !tok.isPunct(')'))
        advance();
      advance();
    } else if (m == ".ptr") {
      fail("unexpected .ptr");
    } else if (typeNamed(m) != Type::None && type == Type::None)
      type = typeNamed(m);
    else
      fail("unknown variable attribute '" + std::string(m) + "'");
  }
  if (type == Type::None)
    fail("expected the variable's type");
  if (align & (align - 1) || align > 65536)
    fail("alignment must be a power of two up to 65536");
  do {
    if (tok.kind != TokenKind::Word)
      fail("expected the variable's name");
    Variable v;
    std::string_view name = tok.text;
    v.name = name;
    v.space = space;
    v.type = type;
    v.line = tok.line;
    v.external = linkage == ".extern";
    v.visible = linkage == ".visible";
    uint64_t element = bytesOf(type) * lanes, elements = 1;
    v.align = align ? align : element;
    advance();
    if (accept('<')) {  // parameterised names: x<8> of .param/.local
      fail("parameterised variable names are not supported");
    }
    std::vector<uint64_t> dims;  // 0: not said
    while (accept('[')) {
      dims.push_back(0);
      if (tok.isPunct(']'))
        v.unsized = true;
      else {
        int64_t n = constant();
        if (n < 0 || (n && elements > (uint64_t(1) << 40) / uint64_t(n)))
          fail("variable '" + v.name + "' is too large");
        elements *= uint64_t(n);
        dims.back() = uint64_t(n);
      }
      expect(']', "after the array size");
    }
    if (tok.isPunct('=')) {
      advance();
      initialiser(v, dims);
      if (v.unsized && !v.init.empty()) {
        elements = (v.init.size() + element - 1) / element;
        v.unsized = false;
      }
    }
    v.bytes = v.unsized ? 0 : element * elements;
    bool inner = fn != nullptr;
    if (inner) {
      scopes[scope].variables[name] = uint32_t(fn->variables.size());
      fn->variables.push_back(std::move(v));
    } else {
      auto known = module.variableIndex.find(v.name);
      if (known != module.variableIndex.end()) {
        if (!v.external && !module.variables[known->second].external && linkage != ".weak")
          fail("variable '" + v.name + "' is defined twice");
        if (!v.external)
          module.variables[known->second] = std::move(v);
      } else {
        module.variableIndex[v.name] = uint32_t(module.variables.size());
        module.variables.push_back(std::move(v));
      }
    }
  } while (accept(','));
  expect(';', "after the variable");
}

void Parser::initialiser(Variable &v, const std::vector<uint64_t> &dims) {
  size_t width = bytesOf(v.type);
  // Bytes of what the d-th brace from outside encloses; a shorter list inside is filled up with zeros, as in C.
  auto rowBytes = [&](int d) {
    uint64_t bytes = width;
    for (size_t k = size_t(d) - 1; k < dims.size(); ++k)
      bytes = dims[k] && bytes <= (64u << 20) / dims[k] ? bytes * dims[k] : 0;
    return bytes;
  };
  int depth = 0;
  auto put = [&](uint64_t bits) {
    if (v.init.size() > (64u << 20))
      fail("initialiser is larger than 64 MiB");
    for (size_t i = 0; i < width; ++i)
      v.init.push_back(i < 8 ? uint8_t(bits >> (8 * i)) : 0);
  };
  for (;;) {
    if (accept('{')) {
      if (++depth > 8)
        fail("initialiser is nested too deeply");
      if (!tok.isPunct('}'))
        continue;
    } else if (tok.kind == TokenKind::Float32 || tok.kind == TokenKind::Float64) {
      uint64_t bits = tok.integer;
      if (tok.kind == TokenKind::Float64 && v.type == Type::F32) {
        double d;
        std::memcpy(&d, &bits, 8);
        float f = float(d);
        bits = 0;
        std::memcpy(&bits, &f, 4);
      }
      put(bits);
      advance();
    } else if (tok.kind == TokenKind::Word && tok.text != "WARP_SZ") {
      Variable::Fixup f{v.init.size(), "", 0, uint8_t(width), 0, false};
      std::string_view name = tok.text;
      advance();
      if (name == "generic" && accept('(')) {
        f.generic = true;
        name = tok.text;
        advance();
        expect(')', "after generic(");
      }
      f.symbol = name;
      if (tok.isPunct('+') || tok.isPunct('-'))
        f.add = constant();
      put(0);
      v.fixups.push_back(f);
    } else if (tok.kind == TokenKind::Integer) {
      // `0xff00(symbol)` takes one byte of an address.
      uint64_t mask = tok.integer;
      int64_t value = constant();
      if (tok.isPunct('(')) {
        advance();
        Variable::Fixup f{v.init.size(), "", 0, uint8_t(width), uint8_t(mask ? __builtin_ctzll(mask) : 0), false};
        if (tok.isWord("generic")) {
          f.generic = true;
          advance();
          expect('(', "after generic");
        }
        f.symbol = tok.text;
        advance();
        if (f.generic)
          expect(')', "after generic(");
        if (tok.isPunct('+') || tok.isPunct('-'))
          f.add = constant();
        expect(')', "after the masked symbol");
        put(0);
        v.fixups.push_back(f);
      } else {
        put(uint64_t(value));
      }
    } else {
      put(uint64_t(constant()));
    }
    while (tok.isPunct('}')) {
      if (--depth < 0)
        fail("unexpected '}'");
      uint64_t row = depth > 0 ? rowBytes(depth + 1) : 0;
      if (row && v.init.size() % row)
        v.init.resize(v.init.size() + row - v.init.size() % row);
      advance();
    }
    if (!depth)
      return;
    expect(',', "in the initialiser");
  }
}

/// Integer constant expressions: unary - ~ !, binary + - * / % << >> & | ^, parentheses.
int64_t Parser::constantTerm(int depth) {
  if (depth > 32)
    fail("constant expression is nested too deeply");
  if (accept('-'))
    return int64_t(0 - uint64_t(constantTerm(depth + 1)));
  if (accept('+'))
    return constantTerm(depth + 1);
  if (accept('~'))
    return ~constantTerm(depth + 1);
  if (accept('!'))
    return !constantTerm(depth + 1);
  if (accept('(')) {
    if (tok.kind == TokenKind::Modifier && (tok.text == ".s64" || tok.text == ".u64")) {
      advance();
      expect(')', "after the cast");
      return constantTerm(depth + 1);
    }
    int64_t v = constant(depth + 1);
    expect(')', "in a constant expression");
    return v;
  }
  if (tok.isWord("WARP_SZ")) {
    advance();
    return 32;
  }
  if (tok.kind != TokenKind::Integer)
    fail("expected an integer constant, found '" + std::string(tok.text.substr(0, 40)) + "'");
  int64_t v = int64_t(tok.integer);
  advance();
  return v;
}

int64_t Parser::constant(int depth) {
  uint64_t v = uint64_t(constantTerm(depth));
  for (;;) {
    if (accept('+')) v += uint64_t(constantTerm(depth + 1));
    else if (accept('-')) v -= uint64_t(constantTerm(depth + 1));
    else if (accept('*')) v *= uint64_t(constantTerm(depth + 1));
    else if (accept('&')) v &= uint64_t(constantTerm(depth + 1));
    else if (accept('|')) v |= uint64_t(constantTerm(depth + 1));
    else if (accept('^')) v ^= uint64_t(constantTerm(depth + 1));
    else if (tok.isPunct('<') || tok.isPunct('>')) {
      bool left = tok.isPunct('<');
      advance();
      expect(left ? '<' : '>', "in a shift");
      uint64_t n = uint64_t(constantTerm(depth + 1)) & 63;
      v = left ? v << n : v >> n;
    } else
      return int64_t(v);
  }
}

} // namespace fovea::ptx
