#include "sidecar/streams.h"

#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

void TextOrNull(pg::Params& params, std::string_view text) {
  text.empty() ? params.Null(pg::oid::kText) : params.Text(text);
}

}  // namespace

void AskToRegister(Lookups& lookups, const StreamQueryRequest& request, StreamQueryDone done) {
  pg::Params params(5);
  params.Text(std::string_view(request.name)).Text(std::string_view(request.source_queue));
  TextOrNull(params, request.sink_queue);
  params.Text(std::string_view(request.config_hash)).Bool(request.reset);
  lookups.Ask(storage::kRegisterStreamQuery, std::move(params),
              [done = std::move(done)](const pg::BatchResult& result) mutable {
                if (!result.ok()) return done(result.status);
                const pg::Rows& rows = result.rows[0];
                done(StreamQueryResult{rows.Uuid(0, 0), rows.Bool(0, 1), rows.Bool(0, 2)});
              });
}

void AskForState(Lookups& lookups, const StreamStateRequest& request, StreamStateDone done) {
  pg::TextArray keys(request.keys.size());
  for (const std::string& key : request.keys) keys.Add(key);
  pg::Params params(5);
  params.Uuid(request.query_id).Int4(request.partition.value).Add(std::move(keys));
  TextOrNull(params, request.key_prefix);
  TextOrNull(params, request.ripe_at);
  lookups.Ask(storage::kGetStreamState, std::move(params),
              [done = std::move(done)](const pg::BatchResult& result) mutable {
                if (!result.ok()) return done(result.status);
                const pg::Rows& rows = result.rows[0];
                std::vector<StreamStateRow> state;
                state.reserve(static_cast<size_t>(rows.rows()));
                for (int row = 0; row < rows.rows(); ++row) {
                  state.push_back({std::string(rows.Text(row, 0)), std::string(rows.Text(row, 1)),
                                   rows.TimestampTz(row, 2)});
                }
                done(std::move(state));
              });
}

}  // namespace queen::sidecar
