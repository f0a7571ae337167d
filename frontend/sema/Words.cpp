// frontend/sema/Words.cpp - edit distance, through llvm::StringRef
#include "frontend/sema/Words.h"

#include "llvm/ADT/STLExtras.h"

namespace fovea::sema {

static std::string join(llvm::ArrayRef<llvm::StringRef> words, llvm::StringRef last) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i)
      text += i + 1 == words.size() ? " " + last.str() + " " : ", ";
    text += "'" + words[i].str() + "'";
  }
  return text;
}

std::string oneOf(llvm::ArrayRef<llvm::StringRef> words) { return join(words, "or"); }

std::string suggest(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> known) {
  // A third of the letters may be wrong; with more, a list helps better than a guess.
  unsigned best = unsigned(word.size() + 2) / 3 + 1;
  llvm::StringRef nearest;
  for (llvm::StringRef candidate : known) {
    unsigned distance = word.edit_distance(candidate, /*AllowReplacements=*/true, best);
    if (distance < best && distance < candidate.size()) {
      best = distance;
      nearest = candidate;
    }
  }
  if (!nearest.empty())
    return "; did you mean '" + nearest.str() + "'?";
  return "; known are " + join(known, "and");
}

bool isTensorOfLaunch(llvm::StringRef name) {
  static constexpr llvm::StringRef names[] = {"q", "k", "v", "o", "lse", "dout", "dq", "dk", "dv"};
  return llvm::is_contained(names, name) || name.starts_with("tiles_");
}

} // namespace fovea::sema
