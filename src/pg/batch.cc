#include "pg/batch.h"

namespace queen::pg {

BatchResult NotSent(Status status) {
  BatchResult result;
  result.status = std::move(status);
  return result;
}

}  // namespace queen::pg
