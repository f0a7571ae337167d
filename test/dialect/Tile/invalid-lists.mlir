// Lists of key blocks refuse tables that hold none.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics

#s = {}
tile.kernel @not_integers target("sm_90a") schedule #s {
  tile.table @t dims 3 : f32
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{expected an i32 table of this kernel with 3 or 4 dimensions, found 't' [tile.list-C1]}}
    %list = tile.list_row @t query_block 64 [%row, %row, %head]
  }
}

// -----

#s = {}
tile.kernel @no_rows target("sm_90a") schedule #s {
  tile.table @t dims 2 : i32
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %list = arith.constant 0 : i64
    // expected-error @below {{expected an i32 table of this kernel with 3 or 4 dimensions, found 't' [tile.list-C1]}}
    %tile = tile.list_tile @t tiles 1 from %list at %row most %rows
  }
}

// -----

#s = {}
tile.kernel @places target("sm_90a") schedule #s {
  tile.table @t dims 3 : i32
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %list = tile.list_row @t query_block 64 [%row, %row, %head]
    // expected-error @below {{expected a place for each limit, found 1 and 2 [tile.list-C2]}}
    %place = tile.list_below @t tiles 2 from %list below(%row, %rows) : i32
  }
}
