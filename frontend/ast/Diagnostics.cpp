// frontend/ast/Diagnostics.cpp - rendering with llvm::SourceMgr
#include "frontend/ast/Diagnostics.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace fovea {

void Diagnostics::error(ast::Range range, const llvm::Twine &message) {
  list.push_back({Diagnostic::Severity::Error, range, message.str()});
}

void Diagnostics::warning(ast::Range range, const llvm::Twine &message) {
  list.push_back({Diagnostic::Severity::Warning, range, message.str()});
}

void Diagnostics::note(ast::Range range, const llvm::Twine &message) {
  list.push_back({Diagnostic::Severity::Note, range, message.str()});
}

size_t Diagnostics::errorCount() const {
  return std::count_if(list.begin(), list.end(),
                       [](const Diagnostic &d) { return d.severity == Diagnostic::Severity::Error; });
}

static bool before(ast::Loc a, ast::Loc b) { return a.line != b.line ? a.line < b.line : a.col < b.col; }

/// A line that is wider than this is not shown.
static constexpr size_t widestLine = 400;

static size_t lineLength(llvm::StringRef text, unsigned line) {
  for (; line > 1; --line)
    text = text.split('\n').second;
  return text.split('\n').first.size();
}

std::string Diagnostics::render(llvm::StringRef text, llvm::StringRef filename, size_t limit) const {
  // Notes travel with their error.
  std::vector<std::vector<Diagnostic>> groups;
  for (const Diagnostic &d : list) {
    if (d.severity != Diagnostic::Severity::Note || groups.empty())
      groups.emplace_back();
    groups.back().push_back(d);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const auto &a, const auto &b) {
    return before(a.front().range.begin, b.front().range.begin);
  });

  std::string out;
  llvm::raw_string_ostream os(out);
  llvm::SourceMgr sources;
  unsigned id = sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, filename), llvm::SMLoc());
  size_t shown = 0;
  for (const auto &group : groups) {
    if (shown++ == limit) {
      os << filename << ": " << groups.size() - limit << " more are not shown\n";
      break;
    }
    for (const Diagnostic &d : group) {
      auto kind = d.severity == Diagnostic::Severity::Error     ? llvm::SourceMgr::DK_Error
                  : d.severity == Diagnostic::Severity::Warning ? llvm::SourceMgr::DK_Warning
                                                                : llvm::SourceMgr::DK_Note;
      // Without a source line: what speaks of the whole file, and what stands in a line too wide to show.
      if (d.range.begin.line == 0 || lineLength(text, d.range.begin.line) > widestLine) {
        os << filename << ":";
        if (d.range.begin.line)
          os << d.range.begin.line << ":" << d.range.begin.col << ":";
        os << (kind == llvm::SourceMgr::DK_Error     ? " error: "
               : kind == llvm::SourceMgr::DK_Warning ? " warning: "
                                                     : " note: ")
           << d.message << "\n";
        continue;
      }
      llvm::SMLoc begin = sources.FindLocForLineAndColumn(id, d.range.begin.line, d.range.begin.col);
      llvm::SMLoc end = sources.FindLocForLineAndColumn(id, d.range.end.line, d.range.end.col);
      llvm::SmallVector<llvm::SMRange, 1> ranges;
      if (begin.isValid() && end.isValid() && begin.getPointer() < end.getPointer())
        ranges.push_back({begin, end});
      sources.GetMessage(begin, kind, d.message, ranges).print(nullptr, os, /*ShowColors=*/false);
    }
  }
  return out;
}

} // namespace fovea
