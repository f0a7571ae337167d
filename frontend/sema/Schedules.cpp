// frontend/sema/Schedules.cpp - the keys of a schedule block
#include "frontend/sema/Schedules.h"

#include "frontend/fmt/Format.h"
#include "frontend/sema/Tensors.h"
#include "frontend/sema/Words.h"

namespace fovea::sema {

using llvm::StringRef;
using llvm::Twine;

static constexpr StringRef targetNames[] = {"sm_100a", "sm_90a"};
static constexpr StringRef roles[] = {"split", "fused"};
static constexpr StringRef softmaxes[] = {"exact", "max_free"};
static constexpr StringRef booleans[] = {"true", "false"};
static constexpr StringRef memories[] = {"tmem", "smem"};

static const ScheduleKey keys[] = {
    {"roles", roles, 0, 0, false, "one warp group per role, or all roles in one warp group"},
    {"tile_m", {}, 64, 256, false, "query rows of a work item"},
    {"tile_n", {}, 16, 256, false, "keys of a block of the loop"},
    {"stages", {}, 1, 16, true, "slots of the rings; per channel if named"},
    {"warps", {}, 1, 32, true, "warps of a role"},
    {"registers", {}, 24, 256, true, "registers per thread of a role"},
    {"ctas_per_sm", {}, 1, 32, false, "CTAs that share a multiprocessor"},
    {"cluster", {}, 1, 16, false, "CTAs of a cluster"},
    {"persistent", booleans, 0, 0, false, "a grid of the size of the chip, or one CTA per item"},
    {"p", memories, 0, 0, false, "where the probabilities travel on sm_100a"},
    {"staged", {}, 0, 240, false, "keys of a block whose probabilities are handed on before the rest, on sm_100a; 0: all at once"},
    {"splits", {}, 1, 32, false, "parts of a tile's keys that CTAs share"},
    {"packed", {}, 1, 64, false, "query heads of a group whose rows share a tile"},
    {"softmax", softmaxes, 0, 0, false, "the running maximum, or the frozen one"},
};

llvm::ArrayRef<StringRef> targets() { return targetNames; }
llvm::ArrayRef<ScheduleKey> scheduleKeys() { return keys; }

static std::string expected(const ScheduleKey &key) {
  if (!key.words.empty())
    return oneOf(key.words);
  std::string text = "a number from " + std::to_string(key.least) + " to " + std::to_string(key.most);
  return key.perName ? text + ", or '{ name : number, ... }'" : text;
}

static std::optional<Override> analyzeSetting(const ScheduleKey &key, const ast::Setting &setting,
                                              Diagnostics &diagnostics) {
  Override result;
  result.range = {setting.key.range.begin, setting.valueRange.end};
  auto number = [&](const ast::Expr &e) -> std::optional<int64_t> {
    auto value = wholeNumber(e);
    if (value && *value >= key.least && *value <= key.most && key.most)
      return value;
    diagnostics.error(e.range, "expected " + expected(key) + " for '" + key.name + "' (" + key.help + "), found '" +
                                   format(e) + "'");
    return std::nullopt;
  };
  if (setting.kind == ast::Setting::Kind::Map && key.perName) {
    result.kind = Override::Kind::IntPerName;
    for (size_t n = 0; n < setting.values.size(); ++n)
      if (auto value = number(setting.values[n]))
        result.perName.push_back({setting.roles[n].text, *value});
    return result.perName.size() == setting.values.size() ? std::optional(result) : std::nullopt;
  }
  if (setting.kind != ast::Setting::Kind::Single) {
    diagnostics.error(setting.valueRange, "expected " + expected(key) + " for '" + key.name + "' (" + key.help + ")");
    return std::nullopt;
  }
  const ast::Expr &value = setting.values.front();
  if (!key.words.empty()) {
    result.kind = Override::Kind::Word;
    result.word = value.text;
    if (value.is(ast::Expr::Kind::Name) && llvm::is_contained(key.words, StringRef(value.text)))
      return result;
    diagnostics.error(value.range, "expected " + expected(key) + " for '" + key.name + "' (" + key.help +
                                       "), found '" + format(value) + "'");
    return std::nullopt;
  }
  auto n = number(value);
  result.number = n.value_or(0);
  return n ? std::optional(result) : std::nullopt;
}

std::optional<ScheduleOverrides> analyzeSchedule(const ast::Schedule &schedule, Diagnostics &diagnostics) {
  ScheduleOverrides result;
  result.target = schedule.target.text;
  result.range = schedule.target.range;
  if (!llvm::is_contained(targets(), StringRef(result.target))) {
    diagnostics.error(schedule.target.range, "unknown target '" + result.target + "'" +
                                                 suggest(result.target, targets()));
    return std::nullopt;
  }
  std::vector<StringRef> names;
  for (const ScheduleKey &key : keys)
    names.push_back(key.name);
  for (const ast::Setting &setting : schedule.settings) {
    auto *key = llvm::find_if(keys, [&](const ScheduleKey &k) { return k.name == setting.key.text; });
    if (key == std::end(keys)) {
      diagnostics.error(setting.key.range, "unknown key '" + setting.key.text + "' of a schedule" +
                                               suggest(setting.key.text, names));
      continue;
    }
    auto value = analyzeSetting(*key, setting, diagnostics);
    if (!value)
      continue;
    auto [at, isNew] = result.settings.try_emplace(setting.key.text, *value);
    if (!isNew) {
      diagnostics.error(setting.key.range, "'" + setting.key.text + "' is set twice");
      diagnostics.note(at->second.range, "it is set first here");
    }
  }
  return result;
}

} // namespace fovea::sema
