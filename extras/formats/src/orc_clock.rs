//! Days and times of an ORC file as those of the Gregorian calendar and of a clock that shows summer
//! time also after 2099.

use chrono::{DateTime, Datelike, NaiveDate, Offset, TimeZone};
use chrono_tz::Tz;

const SECONDS_OF_DAY: i64 = 86_400;
const NANOSECONDS: i128 = 1_000_000_000;
const NANOSECONDS_OF_DAY: i128 = SECONDS_OF_DAY as i128 * NANOSECONDS;
/// 2100-01-01. The crate chrono-tz has no changes of the clock from here on.
const LAST: i64 = 4_102_444_800;
/// Years that begin on each day of the week, leap years and others, before that.
const YEARS: std::ops::Range<i32> = 2060..2088;
/// 1582-10-15, the first day of the Gregorian calendar, in days since 1970.
const GREGORIAN: i64 = -141_427;

/// The day of the Gregorian calendar with the date that a day before 1582-10-15 has in the Julian one.
pub fn gregorian_day(day: i64) -> i64 {
    if day >= GREGORIAN {
        return day;
    }
    let count = day + 2_440_588 + 32_082;
    let year = (4 * count + 3).div_euclid(1461);
    let of_year = count - (1461 * year).div_euclid(4);
    let month = (5 * of_year + 2) / 153; // from March on
    let of_month = of_year - (153 * month + 2) / 5;
    let year = year - 4800;
    // Years begin in March here, too.
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + of_month;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Seconds that the zone's clock is ahead of UTC.
fn offset(zone: Tz, seconds: i64) -> i64 {
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default().naive_utc();
    zone.offset_from_utc_datetime(&time).fix().local_minus_utc().into()
}

/// Seconds between the beginnings of the year and of one like it in `YEARS`.
fn to_like_year(year: i32) -> Option<i64> {
    let first = NaiveDate::from_ymd_opt(year, 1, 1)?;
    let like = YEARS
        .filter_map(|like| NaiveDate::from_ymd_opt(like, 1, 1))
        .find(|like| like.leap_year() == first.leap_year() && like.weekday() == first.weekday())?;
    Some((first - like).num_seconds())
}

/// How a file has days and times.
pub struct Clock {
    /// Days and times before 1582-10-15 are of the Gregorian calendar, else of the Julian one.
    proleptic: bool,
    /// Of the writer, whose clock times without a zone show.
    zone: Option<Tz>,
}

impl Clock {
    pub fn new(proleptic: bool, zone: &str) -> Clock {
        Clock { proleptic, zone: zone.parse().ok() }
    }

    pub fn day(&self, day: i64) -> i64 {
        if self.proleptic {
            day
        } else {
            gregorian_day(day)
        }
    }

    /// Nanoseconds, as the crate has them. `local`: those of a clock, not of UTC.
    pub fn time(&self, time: i128, local: bool) -> i128 {
        let time = match self.zone {
            Some(zone) if local => summer_time(zone, time),
            _ => time,
        };
        let day = time.div_euclid(NANOSECONDS_OF_DAY) as i64;
        time + i128::from(self.day(day) - day) * NANOSECONDS_OF_DAY
    }
}

/// The time on the zone's clock, from one that has the same offset from 2100 on.
fn summer_time(zone: Tz, time: i128) -> i128 {
    let seconds = time.div_euclid(NANOSECONDS) as i64;
    if seconds < LAST {
        return time;
    }
    let constant = offset(zone, LAST + SECONDS_OF_DAY);
    let year = DateTime::from_timestamp(seconds, 0).map_or(0, |local| local.year());
    let right = to_like_year(year).map_or(constant, |back| offset(zone, seconds - constant - back));
    time + i128::from(right - constant) * NANOSECONDS
}
