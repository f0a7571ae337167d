// runtime/emulator/ptx/Module.h - what a PTX text says, before anything is decided about how to run it.
#pragma once
#include "runtime/emulator/ptx/Types.h"
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fovea::ptx {

/// One operand. Registers and variables are numbered per function (globals: per module); names are resolved.
struct Operand {
  enum Kind : uint8_t {
    None,
    Register,  ///< reg + integer
    Special,   ///< name: `%tid` with component in `text` ("%tid.x")
    Integer,   ///< integer
    Float32,   ///< integer holds the bits
    Float64,   ///< integer holds the bits
    Symbol,    ///< variable `reg` (index into Function/Module variables) + integer; `global` tells which table
    Label,     ///< reg: label index
    Name,      ///< a function or an unresolved word, in `text`
    Sink,      ///< `_`
    Vector,    ///< { parts }
    Address,   ///< [ parts ]: base (Register/Symbol/Integer, offset in its `integer`), then coordinates etc.
    List,      ///< ( parts ), of call
    Pair,      ///< d|p: parts[0], parts[1]
    String
  };
  Kind kind = None;
  bool negated = false;  ///< `!p`
  bool global = false;
  uint32_t reg = 0;
  int64_t integer = 0;
  std::string_view text;
  std::vector<Operand> parts;
};

struct Instruction {
  std::string_view opcode;                 ///< first word, no modifiers
  std::vector<std::string_view> modifiers; ///< with the dot
  std::vector<Operand> operands;
  int32_t guard = -1;                      ///< predicate register, -1 none
  bool guardNegated = false;
  int line = 0;
  int sourceFile = 0, sourceLine = 0;      ///< from `.loc`, 0 unknown
};

struct Register {
  Type type;
  std::string name;
};

struct Variable {
  std::string name;
  Space space = Space::None;
  Type type = Type::B8;
  uint64_t bytes = 0;   ///< 0 for `extern name[]`
  uint64_t align = 1;
  bool external = false, unsized = false, visible = false;
  int line = 0;
  std::vector<uint8_t> init;
  struct Fixup { uint64_t at; std::string symbol; int64_t add; uint8_t bytes; uint8_t shift; bool generic; };
  std::vector<Fixup> fixups;  ///< addresses inside `init`
};

struct BranchTargets { std::string name; std::vector<uint32_t> labels; };

struct Function {
  std::string name;
  bool entry = false, external = false, noreturn = false;
  int line = 0;
  std::vector<uint32_t> results, params;     ///< indices into variables (space Param) or ~register for .reg params
  std::deque<Variable> variables;
  std::vector<Register> registers;
  std::vector<Instruction> body;
  std::vector<int64_t> labels;               ///< label index -> instruction index
  std::vector<std::string> labelNames;
  std::map<std::string, std::vector<uint32_t>, std::less<>> branchTargets;  ///< `.branchtargets` tables
  uint32_t reqntid[3] = {0, 0, 0}, maxntid[3] = {0, 0, 0};
  uint32_t cluster[3] = {0, 0, 0};           ///< .reqnctapercluster
  uint32_t maxClusterRank = 0, maxnreg = 0, minnctapersm = 0;
  bool explicitCluster = false;
};

struct Module {
  std::string text;                          ///< everything else points into this
  int versionMajor = 0, versionMinor = 0;
  std::string target;
  int addressSize = 64;
  std::deque<Variable> variables;
  std::deque<Function> functions;
  std::unordered_map<std::string, uint32_t> variableIndex, functionIndex;
  std::map<int, std::string> files;          ///< `.file`
  std::string lineText(int line) const;
};

/// Parses a module. Throws LoadError (line, text) for anything that is not in the grammar.
std::unique_ptr<Module> parse(std::string text);

/// The candidate nearest to `word` by edit distance, "" when none is near; for error messages.
std::string nearest(std::string_view word, const std::vector<std::string_view> &candidates);

} // namespace fovea::ptx
