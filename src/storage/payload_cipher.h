// PayloadCipher: payloads of encrypted queues on their way into the log and back (AES-256-GCM).
// What is stored in the payload's place is a JSON object on one line, which psql reads like any
// other:
//
//   {"key":"1f2e3d4c","nonce":"<12 bytes>","tag":"<16 bytes>","data":"<ciphertext>"}     base64
//
// and the message's meta says `"encrypted":true`: not the queue's option, which may have changed
// since. `key` names the key by its hash, so that keys can be changed: the first encrypts, all
// decrypt. The nonce is random. The tag covers the partition's id as well, so a line that was
// copied to another partition does not decrypt. (Ids are never used again: another queue is another
// partition.) The offset of a line is not covered, so a dead letter can be pushed there again.
//
// Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/encryption_key.h"
#include "base/ids.h"
#include "base/status.h"

namespace queen::storage {

class PayloadCipher {
 public:
  // Without keys it can do neither.
  explicit PayloadCipher(const std::vector<EncryptionKey>& keys);
  ~PayloadCipher();

  bool can_encrypt() const { return !keys_.empty(); }

  // The line to store. REQUIRES: can_encrypt()
  std::string Encrypt(std::string_view payload, PartitionId partition) const;
  // The same for the file buffer, where the partition may have no id yet: bound to its names.
  std::string EncryptBuffered(std::string_view payload, std::string_view queue,
                              std::string_view partition) const;

  // The payload, byte for byte as it was. kUndecryptable, saying why, when the key is none of ours,
  // when the line was changed or comes from elsewhere, and when it is nothing that Encrypt writes.
  Result<std::string> Decrypt(std::string_view line, PartitionId partition) const;
  Result<std::string> DecryptBuffered(std::string_view line, std::string_view queue,
                                      std::string_view partition) const;

 private:
  struct Key {
    std::string id;
    EncryptionKey bytes;
  };
  struct Algorithm;

  std::string EncryptFor(std::string_view bound, std::string_view payload) const;
  Result<std::string> DecryptFor(std::string_view bound, std::string_view line) const;

  std::unique_ptr<const Algorithm> algorithm_;
  std::vector<Key> keys_;
};

// A message's meta line that says as well that its payload is encrypted.
std::string EncryptedMeta(std::string_view meta);
// Whether EncryptedMeta made it, and what it was made of.
bool IsEncryptedMeta(std::string_view meta);
std::string PlainMeta(std::string_view meta);

}  // namespace queen::storage
