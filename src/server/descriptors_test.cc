#include "server/descriptors.h"

#include <gtest/gtest.h>

namespace queen::server {
namespace {

TEST(Descriptors, ClientsGetWhatTheBrokerDoesNotNeed) {
  config::Config config;
  config.http.connections_max = 1000;
  const int64_t reserve = DescriptorReserve(config);
  EXPECT_EQ(ConnectionsThatFit(config, reserve + 10'000), 1000);
  EXPECT_EQ(ConnectionsThatFit(config, reserve + 1000), 1000);
  EXPECT_EQ(ConnectionsThatFit(config, reserve + 999), 999);
  EXPECT_EQ(ConnectionsThatFit(config, reserve), 1);
  EXPECT_EQ(ConnectionsThatFit(config, 0), 1);
}

TEST(Descriptors, EveryConnectionToPostgresIsInTheReserve) {
  config::Config config;
  const int64_t reserve = DescriptorReserve(config);
  config.sidecar.pool_size += 10;
  config.database.pool_size += 10;
  EXPECT_GE(DescriptorReserve(config), reserve + 20);
}

}  // namespace
}  // namespace queen::server
