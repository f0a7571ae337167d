// frontend/sema/Words.h - suggestions for misspelt words, and lists of the known ones
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace fovea::sema {

/// `; did you mean 'pattern'?` for the known word nearest to `word` by edit distance, else `; known are a, b and c`.
std::string suggest(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> known);

/// Names that the tensors of a launch have already: q, k, v, o, lse, their gradients, and the tile lists `tiles_N`.
bool isTensorOfLaunch(llvm::StringRef name);

/// `'a', 'b' or 'c'`
std::string oneOf(llvm::ArrayRef<llvm::StringRef> words);

} // namespace fovea::sema
