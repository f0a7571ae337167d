// Is each malformed mask op refused, with its constraint?
// RUN: %fovea-opt %s --split-input-file --verify-diagnostics

func.func @pattern() {
  // expected-error @+1 {{attribute 'pattern' failed to satisfy constraint: a named pattern}}
  %m = attn.pattern 4 : i64 -> !attn.mask<dense("s") x dense("s")>
  return
}

// -----
func.func @blocks(%list: !attn.tensor<blocks(64, dense("s")) x heads(1) x ? x i32>) {
  // expected-error @+1 {{expected positive block sizes, found 64 and 0 (attn.blocks-C1)}}
  %m = attn.blocks %list {query_block = 64 : i64, key_block = 0 : i64} : !attn.tensor<blocks(64, dense("s")) x heads(1) x ? x i32> -> !attn.mask<dense("s") x dense("s")>
  return
}

// -----
func.func @blocks(%list: !attn.tensor<blocks(32, dense("s")) x heads(1) x ? x i32>) {
  // expected-error @+1 {{expected the list to be i32 or i64, blocks(query_block, rows of the queries) x heads x extent, found '!attn.tensor<blocks(32, dense("s")) x heads(1) x ? x i32>' (attn.blocks-C2)}}
  %m = attn.blocks %list {query_block = 64 : i64, key_block = 64 : i64} : !attn.tensor<blocks(32, dense("s")) x heads(1) x ? x i32> -> !attn.mask<dense("s") x dense("s")>
  return
}

// -----
func.func @combine(%a: !attn.mask<dense("s") x dense("s")>, %b: !attn.mask<dense("t") x dense("s")>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %m = "attn.mask_and"(%a, %b) : (!attn.mask<dense("s") x dense("s")>, !attn.mask<dense("t") x dense("s")>) -> !attn.mask<dense("s") x dense("s")>
  return
}

// -----
func.func @combine(%a: !attn.mask<dense("s") x dense("s")>, %b: !attn.mask<dense("t") x dense("s")>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %m = "attn.mask_or"(%a, %b) : (!attn.mask<dense("s") x dense("s")>, !attn.mask<dense("t") x dense("s")>) -> !attn.mask<dense("s") x dense("s")>
  return
}

// -----
func.func @not(%a: !attn.mask<dense("s") x dense("s")>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %m = "attn.mask_not"(%a) : (!attn.mask<dense("s") x dense("s")>) -> !attn.mask<dense("t") x dense("s")>
  return
}

// -----
func.func @where() {
  // expected-error @+1 {{expected the block arguments to be 0 f32 (one per operand), then i64 i, j, h, b, n_queries, n_keys (attn.mask_where-C1)}}
  %m = attn.mask_where : !attn.mask<dense("s") x dense("s")> {
  ^bb0(%i: i64, %j: i64):
    %c = arith.cmpi sle, %j, %i : i64
    attn.result %c : i1
  }
  return
}

// -----
func.func @where() {
  // expected-error @+1 {{expected the block to end in attn.result of one 'i1' (attn.mask_where-C2)}}
  %m = attn.mask_where : !attn.mask<dense("s") x dense("s")> {
  ^bb0(%i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    %c = arith.constant 1.0 : f32
    attn.result %c : f32
  }
  return
}

// -----
func.func private @g() -> i1
func.func @where() {
  // expected-error @+1 {{expected only arith and math ops and attn.lookup in the expression (attn.mask_where-C3)}}
  %m = attn.mask_where : !attn.mask<dense("s") x dense("s")> {
  ^bb0(%i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    // expected-note @+1 {{found func.call}}
    %c = func.call @g() : () -> i1
    attn.result %c : i1
  }
  return
}
