#include "lowdim/parallel.hpp"

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lowdim/pool.hpp"
#include "testing.hpp"

#if defined(__unix__) && !defined(__SANITIZE_THREAD__)
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace lowdim;
using namespace testing;

namespace {

TEST(every_item_is_visited_once) {
    for (int n_threads : {-1, 1, 3, 8})
        for (int64_t n : {0, 1, 5, 64, 100}) {
            std::vector<int> visits(size_t(n), 0);
            parallel_ranges(n, 7, n_threads, [&](int64_t begin, int64_t end, int) {
                for (int64_t i = begin; i < end; ++i) ++visits[size_t(i)];
            });
            CHECK_EQUAL(visits, std::vector<int>(size_t(n), 1));
        }
}

TEST(many_short_loops) {
    int64_t total = 0;
    for (int round = 0; round < 2000; ++round) {
        std::atomic<int64_t> sum{0};
        parallel_chunks(5, 4, [&](int64_t c, int) { sum += c; });
        total += sum;
    }
    CHECK_EQUAL(total, int64_t(2000 * 10));
}

TEST(threads_have_different_numbers) {
    std::vector<std::atomic<int>> inside(4);
    std::atomic<bool> shared{false};
    for (int round = 0; round < 200; ++round)
        parallel_chunks(32, 4, [&](int64_t, int thread) {
            if (++inside[size_t(thread)] > 1) shared = true;
            std::this_thread::yield();
            --inside[size_t(thread)];
        });
    CHECK(!shared);
}

TEST(no_more_threads_than_asked_for_are_made) {
    Pool pool;
    std::mutex lock;
    std::set<std::thread::id> seen;
    struct Context {
        std::mutex& lock;
        std::set<std::thread::id>& seen;
    } context{lock, seen};
    const Task task{[](void* given, int) {
                        auto& [own_lock, own_seen] = *static_cast<Context*>(given);
                        std::this_thread::sleep_for(std::chrono::milliseconds(2));
                        const std::lock_guard<std::mutex> hold(own_lock);
                        own_seen.insert(std::this_thread::get_id());
                    },
                    &context};
    for (int round = 0; round < 20; ++round) pool.run(round % 3 + 1, task);
    CHECK(seen.size() >= 2 && seen.size() <= 3);
}

TEST(the_first_exception_is_passed_on) {
    for (int n_threads : {1, 3})
        for (int round = 0; round < 50; ++round) {
            std::string caught;
            try {
                parallel_chunks(20, n_threads, [](int64_t c, int) {
                    if (c >= 11) throw std::runtime_error(std::to_string(c));
                });
            } catch (const std::runtime_error& error) {
                caught = error.what();
            }
            CHECK_EQUAL(caught, std::string("11"));
        }
}

TEST(loops_may_be_nested) {
    std::atomic<int64_t> sum{0};
    parallel_chunks(6, 3, [&](int64_t a, int) {
        parallel_chunks(6, 3, [&](int64_t b, int) {
            parallel_chunks(3, 2, [&](int64_t c, int) { sum += 100 * a + 10 * b + c; });
        });
    });
    CHECK_EQUAL(sum.load(), int64_t(100 * 15 * 18 + 10 * 15 * 18 + 3 * 36));
}

TEST(several_threads_may_call_at_once) {
    std::vector<int64_t> sums(4, 0);
    std::vector<std::thread> callers;
    for (size_t caller = 0; caller < 4; ++caller)
        callers.emplace_back([&, caller] {
            for (int round = 0; round < 300; ++round) {
                std::atomic<int64_t> sum{0};
                parallel_chunks(10, 3, [&](int64_t c, int) { sum += c; });
                sums[caller] += sum;
            }
        });
    for (std::thread& caller : callers) caller.join();
    CHECK_EQUAL(sums, std::vector<int64_t>(4, 300 * 45));
}

TEST(a_pool_that_is_closed_runs_tasks_on_the_calling_thread) {
    Pool pool;
    std::atomic<int> calls{0};
    const Task task{[](void* count, int) { ++*static_cast<std::atomic<int>*>(count); }, &calls};
    pool.run(3, task);
    CHECK(calls >= 1 && calls <= 3);
    pool.close();
    pool.close();
    calls = 0;
    pool.run(3, task);
    CHECK_EQUAL(calls.load(), 1);
}

TEST(a_pool_can_be_closed_while_a_task_runs) {
    for (int round = 0; round < 20; ++round) {
        Pool pool;
        std::thread closer([&] { pool.close(); });
        std::atomic<int> calls{0};
        const Task task{[](void* count, int) {
                            std::this_thread::yield();
                            ++*static_cast<std::atomic<int>*>(count);
                        },
                        &calls};
        for (int turn = 0; turn < 20; ++turn) pool.run(4, task);
        closer.join();
        CHECK(calls >= 20);
    }
}

#if defined(__unix__) && !defined(__SANITIZE_THREAD__)
TEST(a_forked_child_makes_threads_of_its_own) {
    std::atomic<int64_t> sum{0};
    const auto add = [&](int64_t c, int) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        sum += c;
    };
    parallel_chunks(10, 3, add);
    const pid_t child = fork();
    if (child == 0) {
        sum = 0;
        parallel_chunks(10, 3, add);
        _exit(sum == 45 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQUAL(status, 0);
    parallel_chunks(10, 3, add);  // the threads here are still there
    CHECK_EQUAL(sum.load(), int64_t(90));
}
#endif

}  // namespace
