// What belongs to groups in teams.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics

#s = {}
tile.kernel @rows target("sm_90a") schedule #s {
  tile.group @whole warps(0, 4) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{expected a group in teams, since group 'whole' has all of the tile's rows}}
    %first, %own = tile.team_rows %row, %rows
  }
}

// -----

#s = {}
tile.kernel @blocks target("sm_90a") schedule #s {
  tile.group @whole warps(0, 4) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{expected a group in teams, since all of group 'whole' visits the same key blocks}}
    tile.skip_blocks %rows, %rows
  }
}

// -----

#s = {}
tile.kernel @no_loop target("sm_90a") schedule #s {
  tile.group @pair warps(0, 8) registers(0) roles [] teams(2) {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{expected a loop over key blocks in group 'pair'}}
    tile.skip_blocks %rows, %rows
  }
}
