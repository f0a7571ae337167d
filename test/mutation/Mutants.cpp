// test/mutation/Mutants.cpp - finds the synchronising instructions of a kernel and edits its text.
#include "test/mutation/Mutants.h"
#include "test/mutation/Flow.h"
#include <algorithm>
#include <functional>
#include <optional>

namespace fovea::mutation {
namespace {

using ptx::Instruction;

struct Range { size_t begin = 0, end = 0; };

class Editor {
public:
  Editor(const std::string &text, const std::string &name) : module(ptx::parse(text)) {
    for (const ptx::Function &f : module->functions)
      if (f.entry && f.name == name)
        fn = &f;
  }

  std::vector<Mutant> run() {
    if (fn)
      for (at = 0; at < fn->body.size(); ++at)
        visit(fn->body[at]);
    return std::move(found);
  }
  std::string trapped(size_t index) const {
    const Instruction &i = fn->body[index];
    Range all = rangeOf(i);
    return replaced(all, guardOf(i) + "trap;");
  }

private:
  std::unique_ptr<ptx::Module> module;
  const ptx::Function *fn = nullptr;
  size_t at = 0;
  std::vector<Mutant> found;

  // ---- text --------------------------------------------------------------------------------------------------------
  /// From the guard to the semicolon, which is included.
  Range rangeOf(const Instruction &i) const {
    const std::string &t = module->text;
    Range r;
    r.begin = size_t(i.opcode.data() - t.data());
    if (i.guard >= 0)
      r.begin = t.rfind('@', r.begin);
    r.end = t.find(';', r.begin) + 1;
    return r;
  }
  std::string guardOf(const Instruction &i) const {
    size_t begin = rangeOf(i).begin;
    return module->text.substr(begin, size_t(i.opcode.data() - module->text.data()) - begin);
  }
  /// The `{ }` of inline assembly around a wait: its loop, labels included.
  std::optional<Range> blockOf(const Instruction &i) const {
    const std::string &t = module->text;
    Range r = rangeOf(i);
    size_t open = t.rfind('{', r.begin), close = t.find('}', r.end);
    if (open == std::string::npos || close == std::string::npos || t.find('}', open) < r.begin || t.find('{', r.end) < close)
      return {};
    if (t.find(':', open) > close || r.begin - open > 400 || close - r.end > 400)
      return {};
    return Range{open, close + 1};
  }
  std::vector<Range> operandsOf(const Instruction &i) const {
    const std::string &t = module->text;
    std::string_view last = i.modifiers.empty() ? i.opcode : i.modifiers.back();
    size_t begin = size_t(last.data() + last.size() - t.data()), end = rangeOf(i).end - 1;
    std::vector<Range> v;
    int depth = 0;
    size_t from = begin;
    for (size_t k = begin; k <= end; ++k) {
      char c = k == end ? ',' : t[k];
      depth += c == '{' || c == '[' || c == '(';
      depth -= c == '}' || c == ']' || c == ')';
      if (c == ',' && !depth) {
        v.push_back({from, k});
        from = k + 1;
      }
    }
    return v;
  }
  std::string textOf(Range r) const {
    std::string s = module->text.substr(r.begin, r.end - r.begin);
    s.erase(0, s.find_first_not_of(" \t\n"));
    return s.substr(0, s.find_last_not_of(" \t\n") + 1);
  }
  static std::string oneLine(std::string s) {
    for (size_t k; (k = s.find("//")) != std::string::npos;)
      s.erase(k, s.find('\n', k) - k);
    std::replace(s.begin(), s.end(), '\n', ' ');
    return s;
  }
  /// `text` in place of a range; the lines below keep their numbers.
  std::string replaced(Range r, std::string with) const {
    std::string out = module->text;
    size_t lines = size_t(std::count(out.begin() + long(r.begin), out.begin() + long(r.end), '\n'));
    out.replace(r.begin, r.end - r.begin, oneLine(std::move(with)) + std::string(lines, '\n'));
    return out;
  }

  void add(Change change, std::string what, std::string text) {
    const Instruction &i = fn->body[at];
    Mutant m;
    m.change = change;
    m.family = std::string(i.opcode);
    for (std::string_view x : i.modifiers) {
      if (x == ".sync" || x == ".aligned" || x.substr(0, 7) == ".shared" || x.substr(0, 2) == ".b" || x.substr(0, 4) == ".cta" || x == ".parity")
        continue;
      m.family += x;
      if (m.family.size() > 28)
        break;
    }
    m.what = std::move(what);
    m.line = uint32_t(i.line);
    m.index = at;
    m.text = std::move(text);
    found.push_back(std::move(m));
  }
  void erase() { add(Change::Deleted, "deleted", replaced(rangeOf(fn->body[at]), "")); }
  void weaken(const std::string &what, const std::string &with) { add(Change::Weakened, what, replaced(rangeOf(fn->body[at]), with)); }
  /// The instruction with another modifier list.
  void swapText(const std::string &what, const std::string &from, const std::string &to) {
    std::string s = textOf(rangeOf(fn->body[at]));
    size_t k = s.find(from);
    if (k != std::string::npos)
      weaken(what, s.replace(k, from.size(), to));
  }
  /// Operand `k` through an instruction `op temporary, operand, value`.
  void change(size_t k, const std::string &what, const std::string &op, int value) {
    std::vector<Range> operands = operandsOf(fn->body[at]);
    if (k >= operands.size())
      return;
    Range all = rangeOf(fn->body[at]), r = operands[k];
    std::string before = module->text.substr(all.begin, r.begin - all.begin), after = module->text.substr(r.end, all.end - r.end);
    weaken(what, "{ .reg .b32 mutated_; " + op + " mutated_, " + textOf(r) + ", " + std::to_string(value) + "; " + before + " mutated_" + after + " }");
  }

  // ---- moves -------------------------------------------------------------------------------------------------------
  /// Straight-line text: no label, so no loop and no join, between two statements.
  bool straight(size_t from, size_t to) const {
    std::string gap = oneLine(module->text.substr(from, to - from));
    for (size_t k = 0; k < gap.size(); ++k)
      if (gap[k] == ':') {
        if (k + 1 < gap.size() && gap[k + 1] == ':')
          ++k;
        else
          return false;
      }
    return true;
  }
  static bool leaves(const Instruction &i) { return i.opcode == "bra" || i.opcode == "brx" || i.opcode == "ret" || i.opcode == "exit" || i.opcode == "call"; }

  void move(bool down, bool wholeBlock, const std::function<bool(const Instruction &)> &past) {
    const Instruction &i = fn->body[at];
    Range unit = rangeOf(i);
    if (wholeBlock) {
      auto b = blockOf(i);
      if (!b)
        return;
      unit = *b;
    }
    size_t edge = down ? unit.end : unit.begin;
    // Past the whole run of accesses of one kind: its first or last alone may be of a tile that others guard.
    const Instruction *last = nullptr;
    for (size_t k = at; down ? ++k < fn->body.size() : k-- > 0;) {
      const Instruction &o = fn->body[k];
      Range r = rangeOf(o);
      if (r.begin >= unit.begin && r.end <= unit.end)
        continue;
      if (leaves(o) || !(down ? straight(edge, r.begin) : straight(r.end, edge)))
        break;
      edge = down ? r.end : r.begin;
      if (!past(o)) {
        if (last && isAccess(o))
          break;
        continue;
      }
      if (last && (last->opcode != o.opcode || last->modifiers != o.modifiers))
        break;
      last = &o;
    }
    if (last) {
      const Instruction &o = *last;
      Range r = rangeOf(o);
      std::string out = module->text, body = " " + oneLine(textOf(unit)) + " ";
      std::string blank(size_t(std::count(out.begin() + long(unit.begin), out.begin() + long(unit.end), '\n')), '\n');
      if (down) {
        out.insert(r.end, body);
        out.replace(unit.begin, unit.end - unit.begin, blank);
      } else {
        out.replace(unit.begin, unit.end - unit.begin, blank);
        out.insert(r.begin, body);
      }
      add(Change::Moved, std::string("moved ") + (down ? "behind" : "before") + " line " + std::to_string(o.line), std::move(out));
    }
  }
  void moveDown(bool block = false) { move(true, block, isAccess); }
  void moveUp() { move(false, false, isAccess); }

  // ---- the instructions --------------------------------------------------------------------------------------------
  void visit(const Instruction &i) {
    if (is(i, "mbarrier"))
      return mbarrier(i);
    if (is(i, "bar") || is(i, "barrier"))
      return barrier(i);
    if (is(i, "fence") || is(i, "membar")) {
      erase();
      if (has(i, ".proxy") || has(i, ".mbarrier_init"))
        weaken("to fence.acq_rel.cta", "fence.acq_rel.cta;");
      // It orders stores and inits before it with what others do after it.
      move(false, false, [](const Instruction &o) { return is(o, "st") || is(o, "stmatrix") || is(o, "cp") || is(o, "mbarrier", ".init"); });
      return;
    }
    if (is(i, "tcgen05")) {
      auto tensor = [](const Instruction &o) { return is(o, "tcgen05") && isAccess(o); };
      if (has(i, ".commit")) {
        erase();
        move(false, false, tensor);
      } else if (has(i, ".wait::ld")) {
        erase();
        move(true, false, [&](const Instruction &o) { return readsLoaded(o); });
      } else if (has(i, ".wait::st") || has(i, ".fence::before_thread_sync")) {
        erase();
        move(false, false, tensor);
      } else if (has(i, ".fence::after_thread_sync")) {
        erase();
        move(true, false, tensor);
      }
      return;
    }
    if (is(i, "wgmma") && !has(i, ".mma_async")) {
      erase();
      if (has(i, ".wait_group")) {
        change1(i);
        move(true, false, [&](const Instruction &o) { return isAccess(o) || readsAccumulator(o); });
      } else if (has(i, ".commit_group")) {
        moveUp();
      } else {
        moveDown();
      }
      return;
    }
    if (is(i, "cp") && (has(i, ".commit_group") || has(i, ".wait_group") || has(i, ".wait_all") || has(i, ".mbarrier"))) {
      erase();
      if (has(i, ".wait_group"))
        change1(i);
      if (has(i, ".wait_group") && has(i, ".bulk") && !has(i, ".read"))
        swapText("to .read", ".wait_group", ".wait_group.read");
      if (has(i, ".commit_group") || has(i, ".mbarrier"))
        moveUp();
      else
        moveDown();
      return;
    }
    if (is(i, "setmaxnreg")) {
      erase();
      int64_t n = i.operands.empty() ? 0 : i.operands[0].integer;
      std::string s = textOf(rangeOf(i)), number = std::to_string(n);
      for (int64_t other : {n - 8, n + 8})
        if (other >= 24 && other <= 256 && s.rfind(number) != std::string::npos)
          weaken("to " + std::to_string(other), std::string(s).replace(s.rfind(number), number.size(), std::to_string(other)));
      swapText(has(i, ".inc") ? "to .dec" : "to .inc", has(i, ".inc") ? ".inc" : ".dec", has(i, ".inc") ? ".dec" : ".inc");
      return;
    }
    if (is(i, "griddepcontrol", ".wait"))
      erase();
  }

  /// Every second warp goes to a barrier of its own. (All warps together would only rename it.)
  void otherBarrier(size_t k) {
    std::vector<Range> operands = operandsOf(fn->body[at]);
    if (k >= operands.size())
      return;
    Range all = rangeOf(fn->body[at]), r = operands[k];
    std::string before = module->text.substr(all.begin, r.begin - all.begin), after = module->text.substr(r.end, all.end - r.end);
    weaken("another barrier in odd warps", "{ .reg .b32 mutated_; mov.u32 mutated_, %tid.x; shr.u32 mutated_, mutated_, 2; and.b32 mutated_, mutated_, 8; xor.b32 mutated_, mutated_, " +
                                               textOf(r) + "; " + before + " mutated_" + after + " }");
  }

  /// wait_group N with N + 1: an immediate.
  void change1(const Instruction &i) {
    std::vector<Range> o = operandsOf(i);
    if (i.operands.empty() || o.empty())
      return;
    Range all = rangeOf(i);
    weaken("N + 1", module->text.substr(all.begin, o[0].begin - all.begin) + " " + std::to_string(i.operands[0].integer + 1) + ";");
  }

  void mbarrier(const Instruction &i) {
    if (has(i, ".init")) {
      erase();
      change(1, "count + 1", "add.s32", 1);
      change(1, "count - 1", "add.s32", -1);
      return;
    }
    if (has(i, ".try_wait") || has(i, ".test_wait")) {
      std::vector<Range> o = operandsOf(i);
      Range all = rangeOf(i);
      add(Change::Deleted, "deleted", replaced(all, guardOf(i) + "setp.eq.u32 " + textOf(o[0]) + ", 0, 0;"));
      if (has(i, ".parity"))
        change(2, "other parity", "xor.b32", 1);
      move(true, true, isAccess);
      return;
    }
    bool arrive = has(i, ".arrive") || has(i, ".arrive_drop"), bytes = has(i, ".expect_tx");
    if (!arrive && !bytes)
      return;
    erase();
    size_t operand = operandsOf(i).size() - 1;
    if (bytes) {
      change(operand, "bytes + 16", "add.s32", 16);
      change(operand, "bytes - 16", "add.s32", -16);
    }
    if (arrive) {
      std::string s = textOf(rangeOf(i));
      weaken("twice", s + " " + s);
      moveUp();
    }
  }

  void barrier(const Instruction &i) {
    erase();
    if (has(i, ".cluster")) {
      if (has(i, ".arrive")) {
        if (!has(i, ".relaxed"))
          swapText("relaxed", ".arrive", ".arrive.relaxed");
        moveUp();
      } else {
        moveDown();
      }
      return;
    }
    if (!has(i, ".warp")) {
      size_t first = has(i, ".red") ? 1 : 0;
      otherBarrier(first);
      if (!has(i, ".red") && operandsOf(i).size() == 2) {
        change(1, "count + 32", "add.s32", 32);
        change(1, "count - 32", "add.s32", -32);
        swapText("arrive only", ".sync", ".arrive");
      }
    }
    // Threads of a block seldom meet for the sake of global memory.
    auto local = [](const Instruction &o) { return isAccess(o) && !((is(o, "ld") || is(o, "st")) && has(o, ".global")); };
    move(false, false, local);
    if (!has(i, ".arrive"))
      move(true, false, local);
  }

  /// The registers of the tcgen05.ld before this wait.
  bool readsLoaded(const Instruction &o) const {
    for (size_t k = at; k-- > 0;)
      if (is(fn->body[k], "tcgen05") && has(fn->body[k], ".ld"))
        return o.opcode != "tcgen05" && reads(o, fn->body[k].operands[0]);
    return false;
  }
  bool readsAccumulator(const Instruction &o) const {
    for (size_t k = at; k-- > 0;)
      if (is(fn->body[k], "wgmma", ".mma_async"))
        return o.opcode != "wgmma" && reads(o, fn->body[k].operands[0]);
    return false;
  }
  static bool reads(const Instruction &o, const ptx::Operand &registers) {
    std::function<bool(const ptx::Operand &)> touches = [&](const ptx::Operand &x) {
      for (const ptx::Operand &p : x.parts)
        if (touches(p))
          return true;
      if (x.kind != ptx::Operand::Register)
        return false;
      for (const ptx::Operand &p : registers.parts)
        if (p.kind == ptx::Operand::Register && p.reg == x.reg)
          return true;
      return registers.kind == ptx::Operand::Register && registers.reg == x.reg;
    };
    for (size_t k = 1; k < o.operands.size(); ++k)
      if (touches(o.operands[k]))
        return true;
    return false;
  }
};

} // namespace

std::vector<Mutant> mutantsOf(const std::string &text, const std::string &name) { return Editor(text, name).run(); }
std::string trappedAt(const std::string &text, const std::string &name, size_t index) { return Editor(text, name).trapped(index); }

} // namespace fovea::mutation
