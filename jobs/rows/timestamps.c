/* Dates and times: see timestamps.h. */
#include "jobs/rows/timestamps.h"

#include <assert.h>

enum { DATE_BYTES = 10, FRACTION_DIGITS = 9, DAY_SECONDS = 86400, HOUR_SECONDS = 3600 };
enum { YEAR_DIGITS = 4, YEAR_DIGITS_MAX = 7 }; /* of a date of Arrow */

/* Cuts exactly `count` digits off the text. */
static bool parse_timestamp_digits(struct glint_slice *text, uint32_t count, int64_t *out)
{
    if (text->size < count) return false;
    *out = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t digit = (uint32_t)text->data[i] - '0';
        if (digit > 9) return false;
        *out = *out * 10 + digit;
    }
    text->data += count;
    text->size -= count;
    return true;
}

static bool skip_timestamp_byte(struct glint_slice *text, char byte)
{
    if (text->size == 0 || text->data[0] != (uint8_t)byte) return false;
    text->data++;
    text->size--;
    return true;
}

static int64_t days_of_month(int64_t year, int64_t month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* Days since 1970-01-01 in the Gregorian calendar. Years begin in March, so that the leap day is
 * their last one: H. Hinnant, chrono-Compatible Low-Level Date Algorithms, days_from_civil. */
static int64_t days_since_1970(int64_t year, int64_t month, int64_t day)
{
    assert(month >= 1 && month <= 12 && day >= 1 && day <= 31);
    year -= month <= 2;
    const int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Four digits, or, with a sign, up to YEAR_DIGITS_MAX. */
static bool parse_timestamp_year(struct glint_slice *text, int64_t *out)
{
    const bool minus = skip_timestamp_byte(text, '-');
    const bool sign = minus || skip_timestamp_byte(text, '+');
    uint32_t digits = sign ? 0 : YEAR_DIGITS;
    if (sign)
        while (digits < text->size && text->data[digits] != '-') digits++;
    if (digits < YEAR_DIGITS || digits > YEAR_DIGITS_MAX ||
        !parse_timestamp_digits(text, digits, out))
        return false;
    if (minus) *out = -*out;
    return true;
}

static bool parse_timestamp_date(struct glint_slice *text, struct timestamp *out)
{
    int64_t year, month, day;
    if (!parse_timestamp_year(text, &year) || !skip_timestamp_byte(text, '-') ||
        !parse_timestamp_digits(text, 2, &month) || !skip_timestamp_byte(text, '-') ||
        !parse_timestamp_digits(text, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_of_month(year, month))
        return false;
    *out = (struct timestamp){.seconds = days_since_1970(year, month, day) * DAY_SECONDS};
    return true;
}

/* Of hours and minutes, from the colon on: seconds and their fraction. */
static bool parse_timestamp_seconds(struct glint_slice *text, struct timestamp *out)
{
    int64_t seconds = 0, digit;
    if (!skip_timestamp_byte(text, ':')) return true;
    if (!parse_timestamp_digits(text, 2, &seconds) || seconds > 59) return false;
    out->seconds += seconds;
    if (!skip_timestamp_byte(text, '.')) return true;
    int32_t unit = 100000000, digits = 0;
    for (; digits < FRACTION_DIGITS && parse_timestamp_digits(text, 1, &digit);
         digits++, unit /= 10)
        out->nanos += (int32_t)digit * unit;
    return digits > 0;
}

static bool parse_timestamp_offset(struct glint_slice *text, struct timestamp *out)
{
    int64_t hours, minutes = 0;
    if (text->size == 0 || skip_timestamp_byte(text, 'Z')) return true;
    const bool east = skip_timestamp_byte(text, '+');
    if ((!east && !skip_timestamp_byte(text, '-')) || !parse_timestamp_digits(text, 2, &hours))
        return false;
    if ((skip_timestamp_byte(text, ':') || text->size > 0) &&
        !parse_timestamp_digits(text, 2, &minutes))
        return false;
    if (hours > 23 || minutes > 59) return false;
    const int64_t seconds = hours * HOUR_SECONDS + minutes * 60;
    out->seconds -= east ? seconds : -seconds;
    return true;
}

/* Adds HH:MM, and seconds and a fraction if they are there. */
static bool parse_time_of_day(struct glint_slice *text, struct timestamp *out)
{
    int64_t hours, minutes;
    if (!parse_timestamp_digits(text, 2, &hours) || !skip_timestamp_byte(text, ':') ||
        !parse_timestamp_digits(text, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    out->seconds += hours * HOUR_SECONDS + minutes * 60;
    return parse_timestamp_seconds(text, out);
}

bool timestamp_parse(struct glint_slice text, struct timestamp *out)
{
    if (!parse_timestamp_date(&text, out)) return false;
    if (text.size == 0) return true;
    if (!skip_timestamp_byte(&text, 'T') && !skip_timestamp_byte(&text, ' ')) return false;
    return parse_time_of_day(&text, out) && parse_timestamp_offset(&text, out) && text.size == 0;
}

bool timestamp_parse_time_of_day(struct glint_slice text, struct timestamp *out)
{
    *out = (struct timestamp){.seconds = 0};
    return parse_time_of_day(&text, out) && text.size == 0;
}

bool timestamp_parse_date(struct glint_slice text, struct timestamp *out)
{
    return text.size == DATE_BYTES && parse_timestamp_date(&text, out);
}
