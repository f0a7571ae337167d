// Is each malformed op on tensors refused, with its constraint?
// RUN: %fovea-opt %s --split-input-file --verify-diagnostics

!X = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
!Y = !attn.tensor<dense("s") x heads(2) x 64 x bf16>
!T = !attn.tensor<? x 64 x f32>
func.func @rotary(%x: !X, %t: !T) {
  // expected-error @+1 {{(attn.rotary-C1)}}
  %y = attn.rotary %x, %t halves : (!X, !T) -> !Y
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 63 x bf16>
!T = !attn.tensor<? x 63 x f32>
func.func @rotary(%x: !X, %t: !T) {
  // expected-error @+1 {{expected an even number of features, which rotate in pairs, found 63 (attn.rotary-C2)}}
  %y = attn.rotary %x, %t halves : (!X, !T) -> !X
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
!T = !attn.tensor<? x 32 x f32>
func.func @rotary(%x: !X, %t: !T) {
  // expected-error @+1 {{expected the table to be bf16, f16 or f32, rows of x (or ?) x 64, found '!attn.tensor<? x 32 x f32>' (attn.rotary-C3)}}
  %y = attn.rotary %x, %t halves : (!X, !T) -> !X
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
!T = !attn.tensor<? x 64 x f32>
func.func @rotary(%x: !X, %t: !T) {
  // expected-error @+1 {{expected one of applied and transpose, found both (attn.rotary-C4)}}
  %y = attn.rotary %x, %t halves applied transpose : (!X, !T) -> !X
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
!Y = !attn.tensor<dense("s") x heads(2) x 64 x bf16>
!T = !attn.tensor<? x 64 x f32>
func.func @rotary_table_grad(%x: !X, %g: !Y, %t: !T) {
  // expected-error @+1 {{expected two floating rows x heads x features of one shape and a table that rotates such, found}}
  %y = attn.rotary_table_grad %x, %g like %t halves : (!X, !Y, !T) -> !T
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
!T = !attn.tensor<? x 64 x f32>
!U = !attn.tensor<? x 32 x f32>
func.func @rotary_table_grad(%x: !X, %t: !T) {
  // expected-error @+1 {{expected a result shaped like the table '!attn.tensor<? x 64 x f32>', found '!attn.tensor<? x 32 x f32>' (attn.rotary_table_grad-C2)}}
  %y = attn.rotary_table_grad %x, %x like %t halves : (!X, !X, !T) -> !U
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
!C = !attn.tensor<dense("s") x heads(4) x 2 x f8E8M0FNU>
func.func @dequant(%x: !X, %c: !C) {
  // expected-error @+1 {{expected rows x heads x features of f8E4M3FN and scales of f8E8M0FNU}}
  %y = attn.dequant %x, %c : (!X, !C) -> !X
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 64 x f8E4M3FN>
!C = !attn.tensor<dense("s") x heads(4) x 4 x f8E8M0FNU>
!Y = !attn.tensor<dense("s") x heads(4) x 64 x f32>
func.func @dequant(%x: !X, %c: !C) {
  // expected-error @+1 {{expected one scale per 32 features (features a multiple of 32) or per 32 rows}}
  %y = attn.dequant %x, %c : (!X, !C) -> !Y
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 64 x f8E4M3FN>
!C = !attn.tensor<dense("s") x heads(4) x 2 x f8E8M0FNU>
func.func @dequant(%x: !X, %c: !C) {
  // expected-error @+1 {{expected the result to be '!attn.tensor<dense("s") x heads(4) x 64 x f32>'}}
  %y = attn.dequant %x, %c : (!X, !C) -> !X
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
!Y = !attn.tensor<dense("s") x heads(4) x 32 x bf16>
func.func @map(%x: !X) {
  // expected-error @+1 {{(attn.map_elements-C1)}}
  %y = attn.map_elements %x : (!X) -> !Y {
  ^bb0(%a: f32, %i: i64, %h: i64, %d: i64, %b: i64, %n: i64):
    attn.result %a : f32
  }
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
func.func @map(%x: !X) {
  // expected-error @+1 {{expected the block arguments to be 1 f32 (one per operand), then i64 i, h, d, b, n (attn.map_elements-C2)}}
  %y = attn.map_elements %x : (!X) -> !X {
  ^bb0(%a: f32, %i: i64, %h: i64, %d: i64):
    attn.result %a : f32
  }
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
func.func @map(%x: !X) {
  // expected-error @+1 {{(attn.map_elements-C3)}}
  %y = attn.map_elements %x : (!X) -> !X {
  ^bb0(%a: f32, %i: i64, %h: i64, %d: i64, %b: i64, %n: i64):
    %c = arith.cmpi eq, %i, %h : i64
    attn.result %c : i1
  }
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
func.func private @g(f32) -> f32
func.func @map(%x: !X) {
  // expected-error @+1 {{(attn.map_elements-C4)}}
  %y = attn.map_elements %x : (!X) -> !X {
  ^bb0(%a: f32, %i: i64, %h: i64, %d: i64, %b: i64, %n: i64):
    // expected-note @+1 {{found func.call}}
    %c = func.call @g(%a) : (f32) -> f32
    attn.result %c : f32
  }
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
!X = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
!C = !attn.tensor<heads(4) x f32>
func.func @scatter(%s: !S, %x: !X, %c: !C) {
  // expected-error @+1 {{expected at least one operand, and all pairs or all rows x heads x features of one shape}}
  %y = attn.scatter_add %s, %x like %c : (!S, !X, !C) -> !C {
  ^bb0(%a: f32, %a1: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    attn.contribute %a at [%h] : f32
  }
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
!C = !attn.tensor<heads(4) x f32>
!D = !attn.tensor<heads(2) x f32>
func.func @scatter(%s: !S, %c: !C) {
  // expected-error @+1 {{expected the result to have the axes of '!attn.tensor<heads(4) x f32>', found '!attn.tensor<heads(2) x f32>' (attn.scatter_add-C1)}}
  %y = attn.scatter_add %s like %c : (!S, !C) -> !D {
  ^bb0(%a: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    attn.contribute %a at [%h] : f32
  }
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
!C = !attn.tensor<heads(4) x f32>
func.func @scatter(%s: !S, %c: !C) {
  // expected-error @+1 {{(attn.scatter_add-C2)}}
  %y = attn.scatter_add %s like %c : (!S, !C) -> !C {
  ^bb0(%a: f32, %h: i64):
    attn.contribute %a at [%h] : f32
  }
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
!C = !attn.tensor<heads(4) x f32>
func.func @scatter(%s: !S, %c: !C) {
  // expected-error @+1 {{expected one index per axis of the result, found 2 for '!attn.tensor<heads(4) x f32>' (attn.scatter_add-C3)}}
  %y = attn.scatter_add %s like %c : (!S, !C) -> !C {
  ^bb0(%a: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    attn.contribute %a at [%h, %i] : f32
  }
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
!C = !attn.tensor<heads(4) x f32>
func.func private @g(f32) -> f32
func.func @scatter(%s: !S, %c: !C) {
  // expected-error @+1 {{(attn.scatter_add-C4)}}
  %y = attn.scatter_add %s like %c : (!S, !C) -> !C {
  ^bb0(%a: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    // expected-note @+1 {{found func.call}}
    %z = func.call @g(%a) : (f32) -> f32
    attn.contribute %z at [%h] : f32
  }
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 64 x f32>
!Y = !attn.tensor<broadcast(8) x heads(4) x 64 x f32>
func.func @sum(%x: !X) {
  // expected-error @+1 {{expected fixed(N) rows to become broadcast(N) with the same heads and features}}
  %y = attn.sum_sequences %x : !X -> !Y
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(?) x 64 x f32>
!Y = !attn.tensor<dense("s") x 64 x f32>
func.func @pack(%x: !X) {
  // expected-error @+1 {{expected rows x heads x features with equal rows and known heads}}
  %y = attn.pack %x : (!X) -> !Y
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(2) x 64 x f32>
!Y = !attn.tensor<dense("s") x 64 x f32>
func.func @pack(%x: !X) {
  // expected-error @+1 {{expected the result to be the operands' rows x 128, found '!attn.tensor<dense("s") x 64 x f32>' (attn.pack-C2)}}
  %y = attn.pack %x : (!X) -> !Y
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(2) x 64 x f32>
!Y = !attn.tensor<dense("s") x 64 x f32>
func.func @add(%x: !X, %y: !Y) {
  // expected-error @+1 {{expected operands and result of one shape}}
  %z = attn.add %x, %y : (!X, !Y) -> !X
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(2) x f32>
!Y = !attn.tensor<dense("s") x heads(2) x 64 x f32>
func.func @lookup(%y: !Y, %t: !X) {
  %z = attn.map_elements %y : (!Y) -> !Y {
  ^bb0(%a: f32, %i: i64, %h: i64, %d: i64, %b: i64, %n: i64):
    // expected-error @+1 {{expected one index per axis, found 1 for '!attn.tensor<dense("s") x heads(2) x f32>' (attn.lookup-C1)}}
    %c = attn.lookup %t[%i] : !X -> f32
    attn.result %c : f32
  }
  return
}

// -----
!X = !attn.tensor<heads(2) x i32>
!Y = !attn.tensor<dense("s") x heads(2) x 64 x f32>
func.func @lookup(%y: !Y, %t: !X) {
  %z = attn.map_elements %y : (!Y) -> !Y {
  ^bb0(%a: f32, %i: i64, %h: i64, %d: i64, %b: i64, %n: i64):
    // expected-error @+1 {{expected i64 from '!attn.tensor<heads(2) x i32>', found 'f32' (attn.lookup-C2)}}
    %c = attn.lookup %t[%h] : !X -> f32
    attn.result %c : f32
  }
  return
}

// -----
!X = !attn.tensor<heads(2) x f32>
func.func @lookup(%t: !X, %h: i64) {
  // expected-error @+1 {{expected to stand in the region of attn.mask_where, map_pairs, map_elements or scatter_add (attn.lookup-C3)}}
  %c = attn.lookup %t[%h] : !X -> f32
  return
}
