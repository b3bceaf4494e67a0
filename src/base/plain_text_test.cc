#include "base/plain_text.h"

#include <gtest/gtest.h>

#include <clocale>

#include "base/settings.h"

namespace lapwing {
namespace {

TEST(PlainText, Letters) {
  EXPECT_EQ(upper_case('i'), 'I');
  EXPECT_EQ(upper_case('I'), 'I');
  EXPECT_EQ(upper_case('_'), '_');
  EXPECT_EQ(lower_case('I'), 'i');
  EXPECT_EQ(lower_case('['), '[');
  EXPECT_TRUE(is_letter_or_digit('Z') && is_letter_or_digit('a') && is_letter_or_digit('0'));
  EXPECT_FALSE(is_letter_or_digit('-') || is_letter_or_digit('\xe9') || is_letter_or_digit('{'));
}

TEST(PlainText, Numbers) {
  EXPECT_EQ(number_text(140.486, 6), "140.486");
  EXPECT_EQ(number_text(0.001, 6), "0.001");
  EXPECT_EQ(number_text(60, 6), "60");
  EXPECT_EQ(number_text(29.5, 2, std::chars_format::fixed), "29.50");
}

// Where this machine has such a locale: with a decimal comma, and with letters of its own.
TEST(PlainText, SettingsAreThoseOfNoLocale) {
  for (const char* locale : {"de_DE.UTF-8", "tr_TR.UTF-8", "C.UTF-8"}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) continue;
    EXPECT_EQ(settings::SecondsKind::print(std::chrono::milliseconds(1500)), "1.5") << locale;
    Settings settings;
    const char* variables[] = {"LAPWING_SPIN=10", "LAPWING_SINGLE_COPY=off", nullptr};
    EXPECT_TRUE(settings.load(const_cast<char**>(variables)).ok()) << locale;
  }
  std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace lapwing
