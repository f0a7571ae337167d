// runtime/emulator/ptx/Parser.h - recursive-descent parser for PTX modules.
#pragma once
#include "runtime/emulator/ptx/Error.h"
#include "runtime/emulator/ptx/Lexer.h"
#include "runtime/emulator/ptx/Module.h"

namespace fovea::ptx {

/// Names visible in one `{ }`; scopes nest, inner names hide outer ones.
struct Scope {
  int parent = -1;
  std::unordered_map<std::string_view, uint32_t> registers, variables, labels;
  struct Range { Type type; uint64_t count; };
  std::unordered_map<std::string_view, Range> ranges;             ///< `.reg .b32 %r<10>`
  std::unordered_map<std::string_view, std::vector<uint32_t>> vectors;  ///< `.reg .v4 .f32 abcd`
};

class Parser {
public:
  explicit Parser(Module &m) : module(m), lex(m.text) { advance(); }
  void run();

private:
  Module &module;
  Lexer lex;
  Token tok;
  Function *fn = nullptr;
  std::deque<Scope> scopes;
  int scope = -1;
  int locFile = 0, locLine = 0;
  struct PendingLabel { size_t instruction; std::string_view name; int scope, line; std::string table; };
  std::vector<PendingLabel> pending;

  // Parser.cpp
  void advance() { tok = lex.next(); }
  [[noreturn]] void fail(const std::string &message, int line = 0);
  void expect(char c, const char *after);
  bool accept(char c);
  uint64_t unsignedInt(const char *what);
  void topLevel();
  void function(bool entry, const std::string &linkage);
  void parameters(std::vector<uint32_t> &into);
  void performance();
  void body();
  void skipSection();
  // ParserData.cpp
  void variable(Space space, const std::string &linkage);
  void registers();
  void initialiser(Variable &v, const std::vector<uint64_t> &dims);
  int64_t constant(int depth = 0);
  int64_t constantTerm(int depth);
  // ParserInstruction.cpp
  void instruction();
  Operand operand(int depth = 0);
  Operand primary(int depth);
  Operand address(int depth);
  Operand word();
  void list(char close, std::vector<Operand> &into, int depth);
  bool findRegister(std::string_view name, uint32_t &reg);
  void resolveLabels();
  uint32_t newRegister(Type t, std::string_view name);
};

} // namespace fovea::ptx
