/* See number_text.h. In C++, as C has no such functions. */
#include "engine/base/number_text.h"

#include <cassert>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

static size_t size_written(const char *out, std::to_chars_result result)
{
    assert(result.ec == std::errc());
    return static_cast<size_t>(result.ptr - out);
}

size_t number_shortest_f64(char *out, double value)
{
    return size_written(
        out, std::to_chars(out, out + NUMBER_SCIENTIFIC_MAX, value, std::chars_format::scientific));
}

size_t number_shortest_f32(char *out, float value)
{
    return size_written(
        out, std::to_chars(out, out + NUMBER_SCIENTIFIC_MAX, value, std::chars_format::scientific));
}

size_t number_rounded_f64(char *out, double value, int digits)
{
    assert(digits >= 1 && digits <= 17);
    return size_written(out, std::to_chars(out, out + NUMBER_SCIENTIFIC_MAX, value,
                                           std::chars_format::scientific, digits - 1));
}

/* std::from_chars does not tell an underflow, which is 0 or the least double, from an overflow. */
static bool parse_out_of_range(const char *text, size_t size, double *out)
{
    char copy[NUMBER_PARSED_MAX + 1];
    assert(size < sizeof copy);
    std::memcpy(copy, text, size);
    copy[size] = '\0';
    *out = std::strtod(copy, nullptr);
    return std::isfinite(*out);
}

bool number_parse_f64(const char *text, size_t size, double *out)
{
    const char *at = text, *const end = text + size;
    if (size == 0 || size > NUMBER_PARSED_MAX) return false;
    if (*at == '+') at++;
    const char *first = at == text && *at == '-' ? at + 1 : at; /* it also reads inf and nan */
    if (first == end || ((*first < '0' || *first > '9') && *first != '.')) return false;
    double value;
    const std::from_chars_result result = std::from_chars(at, end, value);
    if (result.ptr != end) return false;
    if (result.ec == std::errc::result_out_of_range) return parse_out_of_range(text, size, out);
    if (result.ec != std::errc()) return false;
    *out = value;
    return true;
}
