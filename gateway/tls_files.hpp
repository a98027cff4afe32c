// The files of `tls.certificate` and `tls.key`: read at the start, and again when they are others, so that a certificate is renewed
// without a restart. Connections that are there are not touched.
#pragma once

#include <memory>
#include <string>

#include "gateway/config.hpp"
#include "gateway/tls.hpp"

namespace viewgate::gateway {

class TlsFiles {
 public:
  /// Null: none are configured. Throws Stop: no_input (a file cannot be read), config (it is not what it should be).
  [[nodiscard]] static std::unique_ptr<TlsFiles> of(const Config& config);

  [[nodiscard]] const TlsIdentity& identity() const { return *identity_; }

  /// The files of the other one, and the pair that it has read, from now on.
  void adopt(const TlsFiles& other);

  /// What cannot be used is logged, and the old certificate stays in force.
  void read_again();
  /// Nothing where both files are the ones that were read last, judged by time, size and place.
  void read_again_where_changed();
  /// The files could not be used when they were last read.
  [[nodiscard]] bool is_stale() const { return is_stale_; }

 private:
  TlsFiles(std::string certificate, std::string key);

  std::string certificate_;
  std::string key_;
  std::string stamp_;
  bool is_stale_ = false;
  std::unique_ptr<TlsIdentity> identity_;
};

}  // namespace viewgate::gateway
