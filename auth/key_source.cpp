#include "auth/key_source.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include "auth/named_file.hpp"

namespace viewgate::auth {
namespace {

using Clock = std::chrono::steady_clock;

struct CurlFree {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

/// False ends the transfer: more came than a key set may have.
std::size_t append_bounded(const char* bytes, std::size_t size, std::size_t count, void* into) {
  auto& text = *static_cast<std::string*>(into);
  if (text.size() + size * count > jwks_bytes_max) return 0;
  text.append(bytes, size * count);
  return size * count;
}

void initialise_library() {
  static const bool done = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (!done) throw std::runtime_error("the HTTP library cannot be initialised");
}

/// https; http where the address is this machine's, and so no network's.
bool is_local(std::string_view url) {
  for (const std::string_view host : {"http://127.0.0.1", "http://localhost", "http://[::1]"}) {
    if (!url.starts_with(host)) continue;
    const std::string_view rest = url.substr(host.size());
    return rest.empty() || rest.front() == ':' || rest.front() == '/';
  }
  return false;
}

std::string get(const std::string& url, std::chrono::milliseconds time_max) {
  initialise_library();
  const std::unique_ptr<CURL, CurlFree> handle(curl_easy_init());
  if (!handle) throw std::bad_alloc();
  std::string body;
  CURL* const curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, is_local(url) ? "http" : "https");
  if (is_local(url)) curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");  // a proxy's own machine is another one
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);               // an address that was not configured is not asked
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(time_max.count()));
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "viewgate");
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &append_bounded);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
  const CURLcode result = curl_easy_perform(curl);
  if (result == CURLE_WRITE_ERROR) throw std::runtime_error("the key set is larger than 256 KiB");
  if (result != CURLE_OK) throw std::runtime_error(curl_easy_strerror(result));
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) throw std::runtime_error("the answer was HTTP " + std::to_string(status));
  return body;
}

}  // namespace

bool is_key_address(std::string_view url) {
  const std::size_t slashes = url.find("://");
  if (slashes == std::string_view::npos) return false;
  const std::string_view authority = url.substr(slashes + 3, url.find('/', slashes + 3) - slashes - 3);
  if (authority.empty() || authority.find('@') != std::string_view::npos) return false;
  return url.starts_with("https://") || is_local(url);
}

Jwks fetch_jwks(const KeyPlace& place, std::chrono::milliseconds time_max) {
  const bool is_file = !place.file.empty();
  return parse_jwks(is_file ? read_named(place.file, FileKind::regular, jwks_bytes_max) : get(place.url, time_max),
                    place.algorithms);
}

class KeySource::Worker {
 public:
  Worker(std::vector<KeyPlace> places, KeySourceOptions options, Listener listener)
      : options_(options), listener_(std::move(listener)) {
    for (KeyPlace& each : places) places_.push_back({std::move(each), Clock::now(), std::nullopt, false});
    initialise_library();
    thread_ = std::thread([this] { run(); });
  }

  ~Worker() {
    stop();
    thread_.join();
  }

  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
  }

  bool ask(std::size_t issuer) {
    const std::scoped_lock lock(mutex_);
    const auto place = find(issuer);
    if (stopped_ || place == places_.end()) return false;
    const auto now = Clock::now();
    if (place->is_under_way(now)) return true;
    if (place->asked_at && now - *place->asked_at < options_.gap) return false;
    place->asked_at = now;
    place->due = now;
    place->under_way = true;
    changed_.notify_all();
    return true;
  }

  bool is_under_way(std::size_t issuer) {
    const std::scoped_lock lock(mutex_);
    const auto place = find(issuer);
    return !stopped_ && place != places_.end() && place->is_under_way(Clock::now());
  }

 private:
  struct Place {
    KeyPlace place;
    Clock::time_point due;
    std::optional<Clock::time_point> asked_at;  // by an unknown key
    bool under_way = false;

    /// Or about to be: the one thread fetches one place after the other.
    [[nodiscard]] bool is_under_way(Clock::time_point now) const { return under_way || due <= now; }
  };

  std::vector<Place>::iterator find(std::size_t issuer) {
    return std::find_if(places_.begin(), places_.end(),
                        [issuer](const Place& each) { return each.place.issuer == issuer; });
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      const auto next = std::min_element(places_.begin(), places_.end(),
                                         [](const Place& a, const Place& b) { return a.due < b.due; });
      if (next == places_.end()) return;
      if (next->due > Clock::now()) {
        changed_.wait_until(lock, next->due);
        continue;
      }
      next->under_way = true;
      lock.unlock();
      auto tell = fetch(next->place);
      lock.lock();
      // Together, as whoever asks sees it: nobody is promised what was told already, nor refused what is about to be told.
      tell();
      next->under_way = false;
      next->due = Clock::now() + options_.interval;
    }
  }

  /// What is to be told of it.
  std::function<void()> fetch(const KeyPlace& place) const {
    try {
      auto jwks = std::make_shared<Jwks>(fetch_jwks(place, options_.time_max));
      return [this, issuer = place.issuer, jwks] { listener_.fetched(issuer, std::move(*jwks)); };
    } catch (const std::exception& problem) {
      return [this, issuer = place.issuer, reason = std::string(problem.what())] { listener_.failed(issuer, reason); };
    }
  }

  const KeySourceOptions options_;
  const Listener listener_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Place> places_;
  bool stopped_ = false;
  std::thread thread_;
};

KeySource::KeySource(std::vector<KeyPlace> places, KeySourceOptions options, Listener listener)
    : worker_(std::make_unique<Worker>(std::move(places), options, std::move(listener))) {}

KeySource::~KeySource() = default;

void KeySource::stop() { worker_->stop(); }

bool KeySource::ask(std::size_t issuer) { return worker_->ask(issuer); }

bool KeySource::is_under_way(std::size_t issuer) const { return worker_->is_under_way(issuer); }

}  // namespace viewgate::auth
