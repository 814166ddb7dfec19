#include "lowdim/digest.hpp"

#include <string>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

uint64_t digest_of(const std::string& text) {
    return xxh64::digest(reinterpret_cast<const uint8_t*>(text.data()), int64_t(text.size()));
}

TEST(digest_of_known_texts) {  // from the reference implementation
    CHECK(digest_of("") == 0xEF46DB3751D8E999U);
    CHECK(digest_of("a") == 0xD24EC4F1A98C6E5BU);
    CHECK(digest_of("abc") == 0x44BC2CF5AD770999U);
}

TEST(digest_sees_every_byte) {
    for (int64_t count :
         {int64_t(1), int64_t(31), int64_t(32), int64_t(77), 2 * kDigestChunk + 5}) {
        Case here("count", count);
        std::vector<uint8_t> bytes(size_t(count), 7);
        std::vector<uint64_t> known(size_t(digest_chunks(count))), found(known.size());
        digest(bytes.data(), count, 1, known.data());
        digest(bytes.data(), count, 3, found.data());
        CHECK(known == found);
        for (int64_t at : {int64_t(0), count / 2, count - 1}) {
            bytes[size_t(at)] ^= 16;
            digest(bytes.data(), count, 3, found.data());
            CHECK(known != found);
            bytes[size_t(at)] ^= 16;
        }
    }
}

}  // namespace
