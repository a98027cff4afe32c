#include "gateway/tls_files.hpp"

#include <sys/stat.h>

#include <stdexcept>

#include "gateway/commands.hpp"
#include "gateway/errors.hpp"
#include "gateway/log.hpp"

namespace viewgate::gateway {
namespace {

/// Another text whenever the file was written or replaced.
std::string stamp_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return "none;";
  return std::to_string(found.st_ino) + " " + std::to_string(found.st_size) + " " +
         std::to_string(found.st_mtim.tv_sec) + "." + std::to_string(found.st_mtim.tv_nsec) + ";";
}

}  // namespace

TlsFiles::TlsFiles(std::string certificate, std::string key)
    : certificate_(std::move(certificate)), key_(std::move(key)), stamp_(stamp_of(certificate_) + stamp_of(key_)) {}

std::unique_ptr<TlsFiles> TlsFiles::of(const Config& config) {
  if (config.tls_certificate.empty()) return nullptr;
  std::unique_ptr<TlsFiles> out(new TlsFiles(config.tls_certificate, config.tls_key));
  try {
    out->identity_ = std::make_unique<TlsIdentity>(read_named_file(config, "tls.certificate", out->certificate_),
                                                   read_named_file(config, "tls.key", out->key_));
  } catch (const std::invalid_argument& problem) {
    throw Stop(ExitStatus::config, place_of(config, "tls.certificate") + ", and tls.key: " + problem.what());
  }
  return out;
}

void TlsFiles::adopt(const TlsFiles& other) {
  certificate_ = other.certificate_;
  key_ = other.key_;
  stamp_ = other.stamp_;
  identity_->adopt(*other.identity_);
  is_stale_ = false;
}

void TlsFiles::read_again() {
  stamp_ = stamp_of(certificate_) + stamp_of(key_);
  try {
    identity_->renew(read_small_file(certificate_, auth::FileKind::regular),
                     read_small_file(key_, auth::FileKind::regular));
    is_stale_ = false;
    log::info("tls_renewed");
  } catch (const std::exception& problem) {
    is_stale_ = true;
    log::error("tls_not_renewed", {{"reason", problem.what()}});
  }
}

void TlsFiles::read_again_where_changed() {
  if (stamp_of(certificate_) + stamp_of(key_) != stamp_) read_again();
}

}  // namespace viewgate::gateway
