// frontend/ast/Diagnostics.h - the errors of one spec, collected and then shown together
#pragma once

#include "frontend/ast/AST.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <string>
#include <vector>

namespace fovea {

struct Diagnostic {
  enum class Severity { Error, Warning, Note };
  Severity severity;
  ast::Range range;
  std::string message;
};

/// Collects what is wrong in one file. Messages are lower case and say what was expected, why, and what was found.
class Diagnostics {
public:
  /// An error at a place of the file; line 0 speaks of the file as a whole.
  void error(ast::Range range, const llvm::Twine &message);
  /// Something that was asked for and is left out.
  void warning(ast::Range range, const llvm::Twine &message);
  /// Belongs to the error or warning before it: where the other half of a contradiction stands, or what would work.
  void note(ast::Range range, const llvm::Twine &message);

  bool hasErrors() const { return errorCount() != 0; }
  size_t errorCount() const;
  const std::vector<Diagnostic> &all() const { return list; }

  /// In the order of the file, as clang shows them: `file:line:col: error: ...`, the line, a caret. Tells at most
  /// `limit` errors and how many more there are.
  std::string render(llvm::StringRef text, llvm::StringRef filename, size_t limit = 20) const;

private:
  std::vector<Diagnostic> list;
};

} // namespace fovea
