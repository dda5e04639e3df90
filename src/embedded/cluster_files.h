// The files we keep inside the cluster's directory, written anew at every start:
//
//   queen.conf        the settings of tuning.h; included at the end of postgresql.conf, and itself
//                     ends by including the operator's postgres-custom.conf
//   queen_hba.conf    who may connect: over the Unix socket only, as the roles the map allows
//   queen_ident.conf  the map: the broker's and the cluster's system user -> queen and postgres
//
// Authentication is `peer` with that map, behind a socket directory of mode 0700: a stranger on the
// machine can neither reach the socket nor, if somebody loosens the directory, pass for the role.
// The broker itself uses the role queen, which is no superuser; postgres is for the operator.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "embedded/cluster_user.h"
#include "embedded/data_directory.h"
#include "embedded/tuning.h"

namespace queen::embedded {

// Text of queen.conf. Pure.
std::string RenderConf(const std::vector<Setting>& settings, const Layout& layout);
std::string RenderIdent(const ClusterUser& user);

// 'it''s': a string as postgresql.conf reads it.
std::string QuoteConf(const std::string& value);

// Writes the files and the include line. REQUIRES: the directory is a cluster and nobody runs it.
Status WriteClusterFiles(const std::vector<Setting>& settings, const Layout& layout,
                         const ClusterUser& user);

// Replaces `path` as a whole (write, fsync, rename), owned by the cluster's user, mode 0600.
Status ReplaceFile(const std::string& path, const std::string& text, const ClusterUser& user);

}  // namespace queen::embedded
