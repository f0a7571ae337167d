// frontend/sema/Words.h - suggestions for misspelt words, and lists of the known ones
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace fovea::sema {

/// `; did you mean 'pattern'?` for the known word nearest to `word` by edit distance, else `; known are a, b and c`.
std::string suggest(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> known);

/// `'a', 'b' or 'c'`
std::string oneOf(llvm::ArrayRef<llvm::StringRef> words);

} // namespace fovea::sema
