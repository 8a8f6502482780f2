#include "tests/archive/zip_writer.h"

#include <zlib.h>

#include <cstring>

namespace kernelmap::testing {
namespace {

template <typename T>
std::string BytesOf(T number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::string Deflate(const std::string& data) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string output(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(output.data());
  stream.avail_out = static_cast<uInt>(output.size());
  deflate(&stream, Z_FINISH);
  output.resize(stream.total_out);
  deflateEnd(&stream);
  return output;
}

}  // namespace

std::string Bytes16(uint16_t number) { return BytesOf(number); }
std::string Bytes32(uint32_t number) { return BytesOf(number); }
std::string Bytes64(uint64_t number) { return BytesOf(number); }

std::string MakeZip(const std::vector<MadeEntry>& entries) {
  std::string body, directory;
  for (const MadeEntry& entry : entries) {
    const std::string stored = entry.deflate ? Deflate(entry.data) : entry.data;
    const auto crc =
        static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(entry.data.data()),
                                    static_cast<uInt>(entry.data.size())));
    const std::string common =
        Bytes16(20) + Bytes16(entry.flags) + Bytes16(entry.method.value_or(entry.deflate ? 8 : 0)) +
        Bytes32(0) + Bytes32(entry.crc.value_or(crc)) +
        Bytes32(entry.compressed_size.value_or(static_cast<uint32_t>(stored.size()))) +
        Bytes32(entry.size.value_or(static_cast<uint32_t>(entry.data.size())));
    const std::string local_name = entry.local_name.value_or(entry.name);
    directory +=
        "PK\x01\x02" + Bytes16(20) + common + Bytes16(static_cast<uint16_t>(entry.name.size())) +
        Bytes16(static_cast<uint16_t>(entry.extra.size())) + Bytes16(0) + Bytes16(0) + Bytes16(0) +
        Bytes32(0) + Bytes32(entry.header_offset.value_or(static_cast<uint32_t>(body.size()))) +
        entry.name + entry.extra;
    body += "PK\x03\x04" + common + Bytes16(static_cast<uint16_t>(local_name.size())) + Bytes16(0) +
            local_name + stored;
  }
  const auto count = static_cast<uint16_t>(entries.size());
  return body + directory + "PK\x05\x06" + Bytes32(0) + Bytes16(count) + Bytes16(count) +
         Bytes32(static_cast<uint32_t>(directory.size())) +
         Bytes32(static_cast<uint32_t>(body.size())) + Bytes16(0);
}

std::string PickleText(const std::string& text) {
  return "X" + Bytes32(static_cast<uint32_t>(text.size())) + text;
}

std::string ModulePickle(const std::string& attributes) {
  return "\x80\x02"
         "c__torch__\nM\n)\x81}(" +
         attributes + "ub.";
}

std::vector<MadeEntry> MinimalArchive(std::string pickle, std::string code) {
  if (pickle.empty()) pickle = ModulePickle(PickleText("training") + "\x89");
  if (code.empty()) {
    code = "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n";
  }
  std::vector<MadeEntry> entries(4);
  entries[0].name = "m/data.pkl";
  entries[0].data = std::move(pickle);
  entries[1].name = "m/code/__torch__.py";
  entries[1].data = std::move(code);
  entries[1].deflate = true;
  entries[2].name = "m/version";
  entries[2].data = "3\n";
  entries[3].name = "m/extra/notes.txt";
  entries[3].data = "hello";
  return entries;
}

}  // namespace kernelmap::testing
