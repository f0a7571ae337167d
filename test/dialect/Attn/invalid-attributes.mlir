// Is each malformed type and attribute refused, with its constraint?
// RUN: %fovea-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected bf16, f16, f32, f8E4M3FN, f8E8M0FNU, i32 or i64 elements, found 'f64' (attn.tensor-C1)}}
func.func private @f(!attn.tensor<4 x f64>)

// -----
// expected-error @+1 {{expected positive sizes, found 0 (attn.tensor-C2)}}
func.func private @f(!attn.tensor<0 x f32>)

// -----
// expected-error @+1 {{expected at most one axis of rows or blocks, found 2 (attn.tensor-C2)}}
func.func private @f(!attn.tensor<dense("s") x dense("t") x f32>)

// -----
// expected-error @+1 {{expected at most one axis of heads, found 2 (attn.tensor-C2)}}
func.func private @f(!attn.tensor<heads(2) x heads(2) x f32>)

// -----
// expected-error @+1 {{expected an axis (jagged, dense, fixed, broadcast, blocks, heads, a number or ?), found 'ragged'}}
func.func private @f(!attn.tensor<ragged("s") x f32>)

// -----
// expected-error @+1 {{expected a positive number of rows, found 0}}
func.func private @f(!attn.tensor<broadcast(0) x f32>)

// -----
// expected-error @+1 {{expected rows of one sequence, found broadcast rows (attn.pairs-C1); a sequence sees broadcast(N) as fixed(N)}}
func.func private @f(!attn.pairs<broadcast(4) x dense("s") x heads(2) x f32>)

// -----
// expected-error @+1 {{expected rows of one sequence, found broadcast rows (attn.pairs-C1)}}
func.func private @f(!attn.mask<dense("s") x broadcast(4)>)

// -----
// expected-error @+1 {{expected heads(H) or heads(?) after the two row spaces}}
func.func private @f(!attn.pairs<dense("s") x dense("s") x 4 x f32>)

// -----
// expected-error @+1 {{expected jagged, dense, fixed or broadcast rows, found 'heads'}}
func.func private @f(!attn.mask<heads(4) x dense("s")>)

// -----
// expected-error @+1 {{expected window's left to be at least 0, found -1 (attn.window-C1); leave it out for an unbounded side}}
func.func private @f() attributes {w = #attn.window<left = -1>}

// -----
// expected-error @+1 {{expected window's right to be at least 0, found -2 (attn.window-C1)}}
func.func private @f() attributes {w = #attn.window<left = 1, right = -2>}

// -----
// expected-error @+1 {{expected a positive block size, found 0 (attn.block_diagonal-C1)}}
func.func private @f() attributes {w = #attn.block_diagonal<0>}

// -----
// expected-error @+1 {{expected a positive number of prefix keys, found -4 (attn.prefix-C1)}}
func.func private @f() attributes {w = #attn.prefix<-4>}

// -----
// expected-error @+1 {{expected backward beside deterministic, which describes the gradients (attn.emit-C1)}}
func.func private @f() attributes {e = #attn.emit<forward, deterministic>}

// -----
// expected-error @+1 {{expected backward beside packed, which describes the gradients (attn.emit-C1)}}
func.func private @f() attributes {e = #attn.emit<forward, packed "dz">}

// -----
// expected-error @+1 {{expected backward beside tables, which describes the gradients (attn.emit-C1)}}
func.func private @f() attributes {e = #attn.emit<forward, tables ["t"]>}

// -----
// expected-error @+1 {{expected names of tables as strings, found [1] (attn.emit-C1)}}
func.func private @f() attributes {e = #attn.emit<forward, backward, tables [1]>}

// -----
// expected-error @+1 {{expected lse, backward, deterministic, packed or tables, found 'both'}}
func.func private @f() attributes {e = #attn.emit<forward, both>}

// -----
// expected-error @+1 {{expected f32 or f8E4M3FN elements, found 'i32' (attn.pairs-C2)}}
func.func private @f(!attn.pairs<dense("s") x dense("s") x heads(2) x i32>)
