// The questions of streaming queries that change no message: registering a query and reading state.
// Their cycles are transactions (transaction.h).
#pragma once

#include "sidecar/lookups.h"
#include "sidecar/requests.h"

namespace queen::sidecar {

void AskToRegister(Lookups& lookups, const StreamQueryRequest& request, StreamQueryDone done);
void AskForState(Lookups& lookups, const StreamStateRequest& request, StreamStateDone done);

}  // namespace queen::sidecar
