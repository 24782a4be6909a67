// SPDX-License-Identifier: BSD-3-Clause
// Text of others reaches a terminal as text.
#include "tools/process/printable.hpp"

#include <gtest/gtest.h>

namespace rmq::launch {
namespace {

TEST(Printable, WhatATerminalShowsStaysAsItIs) {
  for (const char* text : {"", "plain", "two\nlines\tand a tab", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, WhatItWouldObeyIsSpeltOut) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("\r\b\x7f"), "\\x0d\\x08\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");  // the same as ESC [ in one character
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");
}

TEST(Printable, WhatIsNoCharacterIsSpeltOut) {
  EXPECT_EQ(printable("h\xe9"), "h\\xe9");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");           // ESC-like, too long
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half a pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

}  // namespace
}  // namespace rmq::launch
