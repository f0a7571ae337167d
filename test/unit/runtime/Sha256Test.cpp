// test/unit/runtime/Sha256Test.cpp - the examples of FIPS 180-4 (NIST, "Examples with Intermediate Values").
#include "runtime/abi/Sha256.h"

#include <gtest/gtest.h>

using fovea::sha256;

TEST(Sha256, MatchesPublishedDigests) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PadsEveryLengthAroundABlock) {
  // The padding changes shape between 55, 56, 63, 64 and 65 bytes: all digests must differ.
  EXPECT_NE(sha256(std::string(55, 'x')), sha256(std::string(56, 'x')));
  EXPECT_NE(sha256(std::string(63, 'x')), sha256(std::string(64, 'x')));
  EXPECT_EQ(sha256(std::string(64, 'a')), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}
