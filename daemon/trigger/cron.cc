#include "trigger/cron.h"

#include <date/tz.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "base/ascii.h"
#include "base/log.h"
#include "base/time.h"
#include "config/nearest.h"

namespace hookd::trigger {
namespace {

using std::chrono::seconds;
using SysSeconds = date::sys_seconds;

constexpr size_t kMaxTextBytes = 1024;
constexpr int64_t kLastSecond = 8'835'955'200;  // 2250-01-01; WallTime ends in 2262

// The zone that was probably meant: the same but for case, the city alone, or a slip of the pen; "" = none.
std::string nearest_zone(const date::tzdb& database, std::string_view name) {
  const std::string wanted = lower(name);
  std::string best;
  size_t best_distance = std::max<size_t>(1, wanted.size() / 4) + 1;
  for (const auto& zone : database.zones) {
    const std::string whole = lower(zone.name());
    const size_t slash = whole.rfind('/');
    const std::string_view city =
        slash == std::string::npos ? std::string_view(whole) : std::string_view(whole).substr(slash + 1);
    const size_t distance =
        city == wanted ? 0 : std::min(config::edit_distance(whole, wanted), config::edit_distance(city, wanted) + 1);
    if (distance < best_distance) {
      best_distance = distance;
      best = zone.name();
    }
  }
  return best;
}

// date 3.0.1 lists the folder /usr/share/zoneinfo (package tzdata) at the first use and throws if it is not there.
Result<const date::tzdb*> zone_database() {
  try {
    return &date::get_tzdb();
  } catch (const std::exception& error) {
    return fail(Errc::kConfig, "no time zone data on this machine ({}); install the package tzdata, or use UTC",
                error.what());
  }
}

const date::time_zone* local_zone() {
  try {
    const char* variable = std::getenv("TZ");
    if (!variable || !*variable) return date::current_zone();
    std::string_view name(variable);
    if (name.starts_with(':')) name.remove_prefix(1);
    return date::locate_zone(name);
  } catch (const std::exception& error) {
    log::warn("the local time zone is unknown, schedules use UTC", {{"error", error.what()}});
    return nullptr;
  }
}

// nullptr = UTC, which needs no database.
Result<const date::time_zone*> find_zone(std::string_view name) {
  if (name.empty() || name == "UTC") return nullptr;
  if (name == "Local") return local_zone();
  HOOKD_TRY(const date::tzdb* database, zone_database());
  const auto zone =
      std::find_if(database->zones.begin(), database->zones.end(), [&](const auto& one) { return one.name() == name; });
  if (zone == database->zones.end()) {
    const std::string near = nearest_zone(*database, name);
    return fail(
        Errc::kConfig, "time zone \"{}\" is unknown{}", name,
        near.empty() ? "; expected a name of the tz database such as Europe/Berlin" : "; did you mean " + near + "?");
  }
  try {
    static_cast<void>(zone->get_info(SysSeconds{}));  // its file is read at the first use
  } catch (const std::exception& error) {
    return fail(Errc::kConfig, "time zone \"{}\" cannot be read: {}", name, error.what());
  }
  return &*zone;
}

// A stretch of time with one offset from UTC, [begin, end).
struct Stretch {
  SysSeconds end;
  seconds offset;
};

Stretch stretch_at(const date::time_zone* zone, SysSeconds time) {
  if (!zone) return {SysSeconds::max(), seconds(0)};
  const auto info = zone->get_info(time);
  return {info.end, info.offset};
}

// Fires by the real clock: each local time as often as it comes.
std::optional<SysSeconds> next_real(const CronFields& fields, const date::time_zone* zone, SysSeconds from) {
  while (from.time_since_epoch().count() < kLastSecond) {
    const auto [end, offset] = stretch_at(zone, from);
    const auto local = next_local(fields, (from.time_since_epoch() + offset).count());
    if (!local) return std::nullopt;
    const SysSeconds time{seconds(*local) - offset};
    if (time < end) return time;
    from = end;
  }
  return std::nullopt;
}

// Fires once per local time, see cron.h. Local times map to real ones without ever going back, so the first one that
// maps behind `after` is the answer.
std::optional<SysSeconds> next_once(const CronFields& fields, const date::time_zone* zone, SysSeconds after) {
  int64_t from = (after.time_since_epoch() + stretch_at(zone, after).offset).count();
  while (from < kLastSecond) {
    const auto local = next_local(fields, from);
    if (!local) return std::nullopt;
    SysSeconds time{seconds(*local)};
    from = *local + 1;
    if (zone) {
      const auto info = zone->get_info(date::local_seconds{seconds(*local)});
      if (info.result == date::local_info::nonexistent) {
        time = info.second.begin;
      } else {
        time -= info.first.offset;
        // It has all been, the first time: go on behind the hour that comes twice.
        if (info.result == date::local_info::ambiguous && after >= info.first.end)
          from = std::max(from, (info.first.end.time_since_epoch() + info.first.offset).count());
      }
    }
    if (time > after) return time;
  }
  return std::nullopt;
}

// "TZ=Europe/Berlin 0 3 * * *" -> the zone; `text` keeps the rest.
std::optional<std::string_view> take_zone_prefix(std::string_view& text) {
  for (const std::string_view prefix : {"TZ=", "CRON_TZ="}) {
    if (!text.starts_with(prefix)) continue;
    const size_t end = std::min(text.find_first_of(" \t"), text.size());
    const auto zone = text.substr(prefix.size(), end - prefix.size());
    text.remove_prefix(std::min(text.find_first_not_of(" \t", end), text.size()));
    return zone;
  }
  return std::nullopt;
}

Result<std::string_view> expand_name(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames{{{"@yearly", "0 0 1 1 *"},
                                                                                        {"@annually", "0 0 1 1 *"},
                                                                                        {"@monthly", "0 0 1 * *"},
                                                                                        {"@weekly", "0 0 * * 0"},
                                                                                        {"@daily", "0 0 * * *"},
                                                                                        {"@midnight", "0 0 * * *"},
                                                                                        {"@hourly", "0 * * * *"}}};
  const std::string name = lower(text);
  for (const auto& [key, meaning] : kNames)
    if (name == key) return meaning;
  if (name == "@reboot")
    return fail(Errc::kConfig, "@reboot is not supported; use startup (onStartup in shell-operator hooks)");
  return fail(Errc::kConfig, "{} is unknown; expected @yearly, @monthly, @weekly, @daily, @hourly or @every 1h30m",
              text);
}

Result<Duration> parse_every(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  HOOKD_TRY(const Duration every, parse_duration(text));
  if (every < seconds(1)) return fail(Errc::kConfig, "@every {}: at least 1s is needed", text);
  return std::chrono::floor<seconds>(every);
}

}  // namespace

Result<Cron> Cron::parse(std::string_view text, std::string_view time_zone) {
  if (text.size() > kMaxTextBytes)
    return fail(Errc::kConfig, "a cron schedule of {} characters; at most {} are taken", text.size(), kMaxTextBytes);
  const auto named = [&](const Error& error) { return Failure(error.with(fmt::format("cron \"{}\"", text))); };
  Cron cron;
  cron.text_ = text;
  const size_t start = text.find_first_not_of(" \t");
  std::string_view rest =
      start == std::string_view::npos ? "" : text.substr(start, text.find_last_not_of(" \t") + 1 - start);
  std::string_view zone_name = time_zone;
  if (const auto prefix = take_zone_prefix(rest)) {
    if (prefix->empty()) return named({Errc::kConfig, "a time zone is missing behind TZ=", 0, {}, {}});
    if (!time_zone.empty() && time_zone != *prefix)
      return named({Errc::kConfig,
                    fmt::format("its own time zone contradicts timeZone \"{}\"; take one away", time_zone),
                    0,
                    {},
                    {}});
    zone_name = *prefix;
  }
  const auto zone = find_zone(zone_name);
  if (!zone) return named(zone.error());
  cron.zone_ = *zone;
  if (rest.empty()) return named({Errc::kConfig, "it is empty; expected 5 or 6 fields such as 0 3 * * *", 0, {}, {}});
  if (rest.starts_with('@')) {
    constexpr std::string_view kEvery = "@every";
    if (lower(rest.substr(0, kEvery.size())) == kEvery &&
        (rest.size() == kEvery.size() || rest[kEvery.size()] == ' ' || rest[kEvery.size()] == '\t')) {
      const auto every = parse_every(rest.substr(kEvery.size()));
      if (!every) return named(every.error());
      cron.every_ = *every;
      return cron;
    }
    const auto fields = expand_name(rest);
    if (!fields) return named(fields.error());
    rest = *fields;
  }
  const auto fields = parse_cron_fields(rest);
  if (!fields) return named(fields.error());
  cron.fields_ = *fields;
  if (!next_local(cron.fields_, 0)) return named({Errc::kConfig, "it never fires: no month has such a day", 0, {}, {}});
  return cron;
}

std::optional<WallTime> Cron::next(WallTime after) const {
  const auto whole = std::chrono::floor<seconds>(after);
  if (whole.time_since_epoch().count() >= kLastSecond) return std::nullopt;
  std::optional<SysSeconds> found;
  if (every_ > Duration::zero())
    found = whole + std::chrono::duration_cast<seconds>(every_);
  else if (fields_.every_hour())
    found = next_real(fields_, zone_, whole + seconds(1));
  else
    found = next_once(fields_, zone_, whole);
  if (!found || found->time_since_epoch().count() >= kLastSecond) return std::nullopt;
  return WallTime(*found);
}

std::string Cron::zone_name() const { return zone_ ? zone_->name() : "UTC"; }

Result<void> check_cron(std::string_view text, std::string_view time_zone) {
  HOOKD_TRY([[maybe_unused]] const auto parsed, Cron::parse(text, time_zone));
  return {};
}

}  // namespace hookd::trigger
