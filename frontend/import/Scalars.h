// frontend/import/Scalars.h - typed expressions to arith and math ops (internal to import)
#pragma once

#include "dialect/Attn/Attn.h"
#include "frontend/sema/Spec.h"

#include <map>

namespace fovea {

/// Writes an expression into a region. Int is i64, Real is f32, Bool is i1.
class ScalarImporter {
public:
  /// `tables` are the spec's inputs for spec.tables. A variable or an element that the expression uses must be bound.
  ScalarImporter(mlir::OpBuilder &builder, const sema::Spec &spec, mlir::ValueRange tables, llvm::StringRef filename)
      : builder(builder), spec(spec), tables(tables), filename(filename) {}

  void bind(sema::Variable variable, mlir::Value value) { variables[variable] = value; }
  void bindElement(unsigned table, mlir::Value value) { elements[table] = value; }

  mlir::Value emit(const sema::Expr &e);
  /// Converts an integer.
  mlir::Value emitReal(const sema::Expr &e);

private:
  mlir::Value emitOperator(const sema::Expr &e, mlir::Location loc);
  mlir::Value emitComparison(const sema::Expr &e, mlir::Location loc);
  mlir::Value emitCall(const sema::Expr &e, mlir::Location loc);

  mlir::OpBuilder &builder;
  const sema::Spec &spec;
  mlir::ValueRange tables;
  llvm::StringRef filename;
  std::map<sema::Variable, mlir::Value> variables;
  std::map<unsigned, mlir::Value> elements;
};

mlir::Location locationOf(mlir::MLIRContext *context, llvm::StringRef filename, sema::Range range);

} // namespace fovea
