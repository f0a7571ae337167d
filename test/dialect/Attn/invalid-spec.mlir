// Is each malformed spec and yield refused, with its constraint?
// RUN: %fovea-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected each input name once, found 'q' twice (attn.spec-C1)}}
attn.spec @a(q = %q : !attn.tensor<dense("s") x f32>, q = %k : !attn.tensor<dense("s") x f32>) {
  attn.yield o = %q : !attn.tensor<dense("s") x f32>
}

// -----
// expected-error @+1 {{expected the name 'lens' for one thing, found an input and an offsets table (attn.spec-C1)}}
attn.spec @a(lens = %q : !attn.tensor<jagged("lens") x f32>) {
  attn.yield o = %q : !attn.tensor<jagged("lens") x f32>
}

// -----
// expected-error @+1 {{expected a name for each input, found 2 names and 1 inputs (attn.spec-C1)}}
"attn.spec"() <{sym_name = "a", input_names = ["q", "k"]}> ({
^bb0(%q: !attn.tensor<dense("s") x f32>):
  attn.yield o = %q : !attn.tensor<dense("s") x f32>
}) : () -> ()

// -----
// expected-error @+1 {{expected input 'q' to be an attn.tensor, found 'f32' (attn.spec-C2)}}
attn.spec @a(q = %q : f32, k = %k : !attn.tensor<dense("s") x f32>) {
  attn.yield o = %k : !attn.tensor<dense("s") x f32>
}

// -----
// expected-error @+1 {{expected an input with rows of its own per sequence, which counts the batch, found none (attn.spec-C3)}}
attn.spec @a(q = %q : !attn.tensor<broadcast(4) x f32>) {
  attn.yield o = %q : !attn.tensor<broadcast(4) x f32>
}

// -----
// expected-error @+1 {{expected the block to end in attn.yield (attn.spec-C4)}}
attn.spec @a(q = %q : !attn.tensor<dense("s") x f32>) {
}

// -----
attn.spec @a(q = %q : !attn.tensor<dense("s") x f32>) {
  // expected-error @+1 {{expected each result name once, found "o" twice (attn.yield-C1)}}
  attn.yield o = %q, o = %q : !attn.tensor<dense("s") x f32>, !attn.tensor<dense("s") x f32>
}

// -----
attn.spec @a(q = %q : !attn.tensor<dense("s") x f32>) {
  // expected-error @+1 {{expected a name for each of at least one value, found 1 names and 0 values (attn.yield-C1)}}
  "attn.yield"() <{result_names = ["o"]}> : () -> ()
}

// -----
attn.spec @a(q = %q : !attn.tensor<dense("s") x f32>) {
  %m = attn.pattern #attn.full -> !attn.mask<dense("s") x dense("s")>
  // expected-error @+1 {{operand #0 must be variadic of a tensor with named axes}}
  attn.yield o = %m : !attn.mask<dense("s") x dense("s")>
}
