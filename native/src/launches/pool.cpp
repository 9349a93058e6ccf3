// How a job runs: the caller puts it (it lives on the caller's stack) into the list of open jobs, wakes workers and
// claims chunks itself. A worker joins a job under the mutex. When no chunk is left the caller takes the job off the
// list, so that no worker can join any more, and waits for those inside. A worker never touches a job after leaving it.
#include "warp_core/pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace wc {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kSpinNs = 20'000;
constexpr int64_t kPollNs = 50'000'000;

struct Job {
    Body body;
    void* data;
    int64_t n;
    int64_t chunk;
    alignas(64) std::atomic<int64_t> next{0};
    alignas(64) std::atomic<int> helpers{0};
    std::atomic<bool> cancelled{false};

    bool has_work() const { return next.load(std::memory_order_relaxed) < n && !cancelled; }

    bool run_one() {
        if (!has_work()) return false;
        int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
        if (begin >= n) return false;
        body(data, begin, std::min(begin + chunk, n));
        return true;
    }
};

class Pool {
  public:
    explicit Pool(int count) : target_(count) {}

    int target() const { return target_; }

    void resize(int count) {
        std::lock_guard lock(mutex_);
        target_ = count;
        wake_.notify_all();
    }

    void run(Job& job, KeepGoing keep_going, bool alone) {
        int64_t helpers = alone ? 0 : std::min<int64_t>(target_ - 1, (job.n - 1) / job.chunk);
        if (helpers > 0) open(job, static_cast<int>(helpers));
        int64_t poll_at = keep_going ? now_ns() + kPollNs : INT64_MAX;
        auto poll = [&] {
            if (!keep_going || now_ns() < poll_at) return;
            if (!keep_going(job.data)) job.cancelled = true;
            poll_at = now_ns() + kPollNs;
        };
        while (job.run_one()) poll();
        if (helpers > 0) close(job, poll);
    }

  private:
    void open(Job& job, int helpers) {
        std::lock_guard lock(mutex_);
        start_workers();
        jobs_.push_back(&job);
        posted_.fetch_add(1, std::memory_order_release);
        for (int i = 0; i < helpers; ++i) wake_.notify_one();
    }

    // Where the system refuses more threads, those there are do the work, at least the caller.
    void start_workers() {
        try {
            for (; alive_ < target_ - 1; ++alive_) std::thread([this] { work(); }).detach();
        } catch (const std::system_error&) {
        }
    }

    template <class Poll>
    void close(Job& job, Poll&& poll) {
        {
            std::lock_guard lock(mutex_);
            std::erase(jobs_, &job);
        }
        for (int64_t end = now_ns() + kSpinNs; job.helpers.load(std::memory_order_acquire) && now_ns() < end;) relax();
        while (job.helpers.load(std::memory_order_acquire)) {
            std::unique_lock lock(mutex_);
            left_.wait_for(lock, 20ms, [&] { return job.helpers.load(std::memory_order_acquire) == 0; });
            lock.unlock();
            poll();
        }
    }

    bool surplus() const { return alive_ > target_ - 1; }

    void work() {
        std::unique_lock lock(mutex_);
        while (!surplus()) {
            if (Job* job = pick()) {
                job->helpers.fetch_add(1, std::memory_order_relaxed);
                lock.unlock();
                while (job->run_one()) {
                }
                lock.lock();
                if (job->helpers.fetch_sub(1, std::memory_order_release) == 1) left_.notify_all();
            } else {
                idle(lock);
            }
        }
        --alive_;
    }

    // The open job with work that has the fewest helpers, so that concurrent launches share the workers.
    Job* pick() {
        Job* best = nullptr;
        for (Job* job : jobs_)
            if (job->has_work() && (!best || job->helpers < best->helpers)) best = job;
        return best;
    }

    // Spins briefly, since launches come in rows and waking a sleeping thread costs more than a small launch.
    void idle(std::unique_lock<std::mutex>& lock) {
        uint64_t seen = posted_.load(std::memory_order_acquire);
        lock.unlock();
        for (int64_t end = now_ns() + kSpinNs; posted_.load(std::memory_order_acquire) == seen && now_ns() < end;)
            relax();
        lock.lock();
        wake_.wait(lock, [&] { return posted_.load(std::memory_order_relaxed) != seen || surplus(); });
    }

    std::mutex mutex_;
    std::condition_variable wake_, left_;
    std::vector<Job*> jobs_;
    std::atomic<uint64_t> posted_{0};
    std::atomic<int> target_;
    int alive_ = 0;
};

int usable_cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

std::atomic<Pool*> current{nullptr};

// Never destroyed: detached workers may still sleep in it when the process ends. A child of fork has none of the
// workers, and the mutex may be held by a thread that is gone, so it gets a new pool.
Pool& pool() {
    static const bool ready = [] {
        current = new Pool(usable_cores());
        pthread_atfork(nullptr, nullptr, [] { current = new Pool(current.load()->target()); });
        return true;
    }();
    (void)ready;
    return *current.load(std::memory_order_acquire);
}

}  // namespace

void parallel_for(int64_t n, int64_t chunk, Body body, void* data, KeepGoing keep_going, bool alone) {
    if (n <= 0) return;
    Job job{body, data, n, std::clamp<int64_t>(chunk, 1, n)};
    pool().run(job, keep_going, alone);
}

int num_threads() { return pool().target(); }

void set_num_threads(int count) {
    if (count < 1 || count > 1024) throw std::invalid_argument("the number of threads must be between 1 and 1024");
    pool().resize(count);
}

int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace wc
