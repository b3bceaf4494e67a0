// Letters and numbers of text that programs read: settings, files, names. The same whatever locale the program has chosen (setlocale()), unlike the C
// library's functions: in a Turkish one the capital of i is no I, and in a German one numbers have a comma.
#pragma once

#include <charconv>
#include <string>

namespace lapwing {

constexpr char lower_case(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
constexpr char upper_case(char letter) noexcept {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}
constexpr bool is_digit(char letter) noexcept {
  return letter >= '0' && letter <= '9';
}
constexpr bool is_letter_or_digit(char letter) noexcept {
  return is_digit(letter) || (lower_case(letter) >= 'a' && lower_case(letter) <= 'z');
}

// With so many digits, as %g has it; or with so many behind the point, as %f has it.
inline std::string number_text(double value, int digits, std::chars_format format = std::chars_format::general) {
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value, format, digits);
  return error == std::errc() ? std::string(text, end) : std::string("nan");
}

}  // namespace lapwing
