// runtime/emulator/ptx/Parser.cpp - module level: directives, functions, bodies.
#include "runtime/emulator/ptx/Parser.h"
#include <algorithm>
#include <cstdio>

namespace fovea::ptx {

static constexpr uint64_t kMaxInstructions = 4u << 20;

std::string Module::lineText(int line) const { return Lexer(text).lineText(line); }

void Parser::fail(const std::string &message, int line) {
  if (!line)
    line = tok.line;
  throw LoadError(line, message, lex.lineText(line));
}

void Parser::expect(char c, const char *after) {
  if (!tok.isPunct(c))
    fail(std::string("expected '") + c + "' " + after + ", found " +
         (tok.kind == TokenKind::End ? "the end of the text" : "'" + std::string(tok.text.substr(0, 40)) + "'"));
  advance();
}

bool Parser::accept(char c) {
  if (!tok.isPunct(c))
    return false;
  advance();
  return true;
}

uint64_t Parser::unsignedInt(const char *what) {
  if (tok.kind != TokenKind::Integer)
    fail(std::string("expected a number: ") + what);
  uint64_t v = tok.integer;
  advance();
  return v;
}

void Parser::run() {
  if (!tok.isModifier(".version"))
    fail("expected '.version' first; this is not a PTX module");
  while (tok.kind != TokenKind::End)
    topLevel();
  if (module.target.empty())
    fail("the module has no .target");
}

void Parser::skipSection() {
  int line = tok.line;
  advance();
  while (tok.kind == TokenKind::Word || tok.kind == TokenKind::Modifier)
    advance();
  if (!tok.isPunct('{'))
    fail("expected '{' after .section");
  lex.skipBraces(line);
  advance();
}

void Parser::topLevel() {
  std::string linkage;
  while (tok.isModifier(".visible") || tok.isModifier(".extern") || tok.isModifier(".weak") ||
         tok.isModifier(".common")) {
    linkage = tok.text;
    advance();
  }
  std::string_view d = tok.text;
  if (tok.kind == TokenKind::End)
    fail("text ends after a linkage directive");
  if (accept(';'))
    return;
  if (tok.kind != TokenKind::Modifier)
    fail("expected a directive, found '" + std::string(d.substr(0, 40)) + "'");
  if (d == ".version") {
    advance();
    // "8.6" arrives as a decimal number.
    std::string v(tok.text);
    if (tok.kind != TokenKind::Float64 || std::sscanf(v.c_str(), "%d.%d", &module.versionMajor, &module.versionMinor) != 2)
      fail("expected a version such as 8.6");
    if (module.versionMajor > 9)
      fail("PTX version " + v + " is not known here; up to 9.x are");
    advance();
  } else if (d == ".target") {
    advance();
    module.target = tok.text;
    advance();
    while (accept(','))
      advance();
  } else if (d == ".address_size") {
    advance();
    if ((module.addressSize = int(unsignedInt(".address_size"))) != 64)
      fail("only .address_size 64 is supported");
  } else if (d == ".file") {
    advance();
    int index = int(unsignedInt(".file"));
    if (tok.kind == TokenKind::String) {
      module.files[index] = std::string(tok.text.substr(1, tok.text.size() - 2));
      advance();
    }
    while (accept(','))
      advance();
  } else if (d == ".section") {
    skipSection();
  } else if (d == ".pragma") {
    advance();
    while (tok.kind == TokenKind::String || tok.isPunct(','))
      advance();
    expect(';', "after .pragma");
  } else if (d == ".entry" || d == ".func") {
    advance();
    function(d == ".entry", linkage);
  } else if (d == ".global" || d == ".const" || d == ".shared") {
    advance();
    variable(d == ".global" ? Space::Global : d == ".const" ? Space::Const : Space::Shared, linkage);
  } else if (d == ".alias") {
    fail(".alias is not supported");
  } else {
    std::string near = nearest(d, {".version", ".target", ".address_size", ".file", ".section", ".pragma", ".entry",
                                   ".func", ".global", ".const", ".shared", ".visible", ".extern", ".weak", ".common"});
    fail("unknown directive '" + std::string(d) + "'" + (near.empty() ? "" : "; the nearest known one is '" + near + "'"));
  }
}

void Parser::function(bool entry, const std::string &linkage) {
  Function f;
  f.entry = entry;
  f.line = tok.line;
  f.external = linkage == ".extern";
  fn = &f;
  scopes.clear();
  pending.clear();
  locFile = locLine = 0;
  scopes.emplace_back();
  scope = 0;
  if (!entry) {
    while (tok.isModifier(".attribute")) {
      advance();
      while (tok.kind != TokenKind::End && !tok.isPunct(')'))
        advance();
      advance();
    }
    if (tok.isPunct('('))
      parameters(f.results);
  }
  if (tok.kind != TokenKind::Word)
    fail("expected the function's name");
  f.name = tok.text;
  advance();
  if (tok.isPunct('('))
    parameters(f.params);
  performance();
  auto known = module.functionIndex.find(f.name);
  if (accept(';')) {
    if (known == module.functionIndex.end()) {
      f.external = true;
      module.functionIndex[f.name] = uint32_t(module.functions.size());
      module.functions.push_back(std::move(f));
    }
    fn = nullptr;
    return;
  }
  if (!tok.isPunct('{'))
    fail("expected '{' or ';' after the head of '" + f.name + "'");
  body();
  resolveLabels();
  fn = nullptr;
  f.external = false;
  if (known == module.functionIndex.end()) {
    module.functionIndex[f.name] = uint32_t(module.functions.size());
    module.functions.push_back(std::move(f));
  } else if (module.functions[known->second].external) {
    module.functions[known->second] = std::move(f);
  } else {
    fail("function '" + f.name + "' is defined twice", f.line);
  }
}

void Parser::parameters(std::vector<uint32_t> &into) {
  expect('(', "");
  if (accept(')'))
    return;
  do {
    if (tok.isModifier(".reg")) {
      advance();
      if (tok.kind != TokenKind::Modifier || typeNamed(tok.text) == Type::None)
        fail("expected the type of a .reg parameter");
      Type t = typeNamed(tok.text);
      advance();
      into.push_back(~newRegister(t, tok.text));
      scopes[0].registers[tok.text] = ~into.back();
      advance();
      continue;
    }
    if (!tok.isModifier(".param"))
      fail("expected .param or .reg in a parameter list");
    advance();
    Variable v;
    v.space = Space::Param;
    v.line = tok.line;
    uint64_t align = 0;
    for (; tok.kind == TokenKind::Modifier; ) {
      std::string_view m = tok.text;
      advance();
      if (m == ".align")
        align = std::max<uint64_t>(align, unsignedInt(".align"));
      else if (m == ".ptr") {
        // `.ptr .space .align N` describes what the pointer points to.
        while (tok.kind == TokenKind::Modifier) {
          bool isAlign = tok.text == ".align";
          if (!isAlign && tok.text != ".global" && tok.text != ".const" && tok.text != ".shared" && tok.text != ".local")
            fail("unknown parameter attribute '" + std::string(tok.text) + "'");
          advance();
          if (isAlign)
            unsignedInt(".align");
        }
      } else if (typeNamed(m) != Type::None)
        v.type = typeNamed(m);
      else
        fail("unknown parameter attribute '" + std::string(m) + "'");
    }
    if (tok.kind == TokenKind::Word) {
      v.name = tok.text;
      scopes[0].variables[tok.text] = uint32_t(fn->variables.size());
      advance();
    }
    v.bytes = bytesOf(v.type);
    v.align = align ? align : v.bytes;
    if (accept('[')) {
      if (tok.isPunct(']')) {
        v.unsized = true;
        v.bytes = 0;
      } else {
        uint64_t n = unsignedInt("the parameter's size");
        if (n > 65536)
          fail("parameter is larger than 64 KiB");
        v.bytes *= n;
      }
      expect(']', "after the parameter's size");
    }
    into.push_back(uint32_t(fn->variables.size()));
    fn->variables.push_back(std::move(v));
  } while (accept(','));
  expect(')', "after the parameters");
}

void Parser::performance() {
  static const std::vector<std::string_view> known = {
      ".maxnreg", ".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".noreturn", ".pragma",
      ".reqnctapercluster", ".explicitcluster", ".maxclusterrank", ".blocksareclusters", ".abi_preserve",
      ".abi_preserve_control"};
  while (tok.kind == TokenKind::Modifier) {
    std::string_view d = tok.text;
    if (std::find(known.begin(), known.end(), d) == known.end()) {
      std::string near = nearest(d, known);
      fail("unknown directive '" + std::string(d) + "'" + (near.empty() ? "" : "; the nearest known one is '" + near + "'"));
    }
    advance();
    uint32_t v[3] = {1, 1, 1};
    int n = 0;
    if (d == ".pragma") {
      while (tok.kind == TokenKind::String || tok.isPunct(','))
        advance();
      expect(';', "after .pragma");
      continue;
    }
    while (tok.kind == TokenKind::Integer && n < 3) {
      v[n++] = uint32_t(std::min<uint64_t>(unsignedInt("directive"), 0xffffffffu));
      if (!accept(','))
        break;
    }
    bool needsNumber = d != ".noreturn" && d != ".explicitcluster" && d != ".blocksareclusters";
    if (needsNumber && !n)
      fail("expected a number after " + std::string(d));
    if (d == ".noreturn") fn->noreturn = true;
    else if (d == ".explicitcluster") fn->explicitCluster = true;
    else if (d == ".maxnreg") fn->maxnreg = v[0];
    else if (d == ".minnctapersm") fn->minnctapersm = v[0];
    else if (d == ".maxclusterrank") fn->maxClusterRank = v[0];
    else if (d == ".reqntid") std::copy(v, v + 3, fn->reqntid);
    else if (d == ".maxntid") std::copy(v, v + 3, fn->maxntid);
    else if (d == ".reqnctapercluster") std::copy(v, v + 3, fn->cluster);
  }
}

void Parser::body() {
  int open = tok.line;
  expect('{', "");
  for (int depth = 1; depth;) {
    if (tok.kind == TokenKind::End)
      fail("'{' of the body is not closed; the text is cut off", open);
    if (fn->body.size() > kMaxInstructions || scopes.size() > kMaxInstructions)
      fail("function has more than " + std::to_string(kMaxInstructions) + " instructions");
    if (accept('}')) {
      --depth;
      scope = scopes[scope].parent;
    } else if (accept('{')) {
      ++depth;
      Scope s;
      s.parent = scope;
      scope = int(scopes.size());
      scopes.push_back(std::move(s));
    } else if (accept(';')) {
    } else if (tok.kind == TokenKind::Modifier) {
      std::string_view d = tok.text;
      if (d == ".section") {
        skipSection();
        continue;
      }
      advance();
      if (d == ".reg")
        registers();
      else if (d == ".shared" || d == ".local" || d == ".param" || d == ".global" || d == ".const")
        variable(d == ".shared" ? Space::Shared : d == ".local" ? Space::Local : d == ".param" ? Space::Param
                 : d == ".global" ? Space::Global : Space::Const, "");
      else if (d == ".loc") {
        locFile = int(unsignedInt(".loc"));
        locLine = int(unsignedInt(".loc"));
        int line = tok.line;
        if (tok.kind == TokenKind::Integer)
          advance();
        // `, function_name $label(+n), inlined_at file line column` stays on the line.
        while (tok.kind != TokenKind::End && tok.line == line && !tok.lineStart)
          advance();
      } else if (d == ".pragma") {
        while (tok.kind == TokenKind::String || tok.isPunct(','))
          advance();
        expect(';', "after .pragma");
      } else {
        std::string near = nearest(d, {".reg", ".shared", ".local", ".param", ".global", ".const", ".loc", ".pragma", ".section"});
        fail("unknown directive '" + std::string(d) + "'" + (near.empty() ? "" : "; the nearest known one is '" + near + "'"));
      }
    } else {
      instruction();
    }
  }
}

std::unique_ptr<Module> parse(std::string text) {
  auto m = std::make_unique<Module>();
  m->text = std::move(text);
  Parser(*m).run();
  return m;
}

} // namespace fovea::ptx
