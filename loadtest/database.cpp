#include "loadtest/database.hpp"

#include <libpq-fe.h>

#include <stdexcept>

namespace viewgate::loadtest {

Rows::Rows(pg_result* result) : result_(result, PQclear) {}

int Rows::size() const { return PQntuples(result_.get()); }

bool Rows::null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }

std::string_view Rows::at(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

Database::Database(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {
  if (PQstatus(connection_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_.get()));
  // Notices of the functions that are called here are the server's business.
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
}

Rows Database::query(const std::string& sql, const std::vector<std::string>& parameters) {
  std::vector<const char*> values;
  values.reserve(parameters.size());
  for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
  PGresult* result = parameters.empty() ? PQexec(connection_.get(), sql.c_str())
                                        : PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(values.size()),
                                                       nullptr, values.data(), nullptr, nullptr, 0);
  Rows rows(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    throw std::runtime_error(std::string(PQerrorMessage(connection_.get())) + "in: " + sql);
  }
  return rows;
}

}  // namespace viewgate::loadtest
