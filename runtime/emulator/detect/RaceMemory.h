// runtime/emulator/detect/RaceMemory.h - shadows of shared, tensor and global memory: who touched what last.
#pragma once
#include "runtime/emulator/detect/RaceState.h"
#include "runtime/emulator/detect/Races.h"
#include <array>
#include <atomic>
#include <memory>
#include <mutex>

namespace fovea::emulator {

/// Compares each access with those before it and reports pairs that nothing orders.
class RaceMemory {
public:
  /// Every cluster, before anything else of it.
  void begin(const ClusterState &s);
  void touchShared(Cluster &c, Cta &owner, uint32_t offset, uint32_t bytes, bool write, Mark m, const View &seen, Warp &w);
  /// Whole blocks of 16 bytes, bit k the one at page + 16 k.
  void touchSharedBlocks(Cluster &c, Cta &owner, uint32_t page, uint64_t blocks, bool write, Mark m, const View &seen, Warp &w);
  void touchTmem(Cluster &c, Cta &owner, uint32_t address, uint32_t columns, bool write, Mark m, const View &seen, Warp &w);
  /// `strong`: an atomic, volatile, relaxed, acquire or release access; two of those do not race with each other.
  void touchGlobal(Cluster &c, uint64_t address, uint64_t bytes, bool write, bool strong, Mark m, const View &seen, Warp &w);
  /// Rows that an engine reads of a buffer that only engines have read so far. False: touch them one by one.
  bool noteRows(Cluster &c, uint64_t address, uint32_t bytes, uint64_t stride, uint32_t count, const Mark &m);
  /// Accesses to tensor memory by different warps also need fence::before on one side and fence::after on the other. Only a
  /// warning: proven compilers leave them out where a barrier stands.
  void checkTensorFences(Cluster &c, Cta &owner, uint32_t address, uint32_t columns, bool write, const Mark &m, const View &seen, Warp &w);
  /// An operation on an mbarrier that its init may not precede.
  void checkInit(Cluster &c, const BarrierView &b, const Cta &owner, uint32_t offset, const Mark &m, const View &seen, Warp &w);

  std::vector<UnwrittenRead> unwrittenReads() const;

private:
  struct GlobalCell {
    uint64_t cluster[2] = {0, 0};  ///< of the write and of the read
    Mark write, read;
    bool strongWrite = false, strongRead = false, manyReaders = false;
    uint32_t value = 0;            ///< that an asynchronous write left (of 16 bytes: their hash)
    uint8_t valueBytes = 0;        ///< how many it is of, 0: not known

    void readBy(uint64_t index, const Mark &m, bool strong);
  };
  /// 16 bytes; one cell stands for all as long as each access covered all.
  struct GlobalBlock {
    GlobalCell whole;
    std::unique_ptr<std::array<GlobalCell, 4>> parts;
  };
  /// 1 KiB of memory. What only engines have read is kept by histories, all else in blocks.
  struct Page {
    Histories<GlobalCell> histories;
    std::unique_ptr<std::array<GlobalBlock, 64>> blocks;
  };
  struct Shard {
    std::mutex lock;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  };
  Shard shards[64];
  /// f(cell, address, bytes, their mask) for the cells of an access.
  template <class F> void eachCell(ClusterState *s, uint64_t address, uint64_t bytes, bool engineReads, F f);
  /// The page, which is there to stay, and the lock on it. `s` remembers those that it met lately.
  Page &pageOf(ClusterState *s, uint64_t page, std::unique_lock<std::mutex> &hold);

  /// `count` rows of one operation.
  struct Run {
    uint64_t address, stride, cluster;
    uint32_t bytes, count;
    Mark mark;
  };
  /// A buffer that only engines have read so far, as operands are: there is nothing to check, so the reads are noted in order,
  /// and laid down in the pages when the first access of another kind comes.
  struct ReadLog {
    std::atomic<bool> open{true};
    std::mutex lock;
    std::vector<Run> runs;

    /// False when there are too many.
    bool add(const Run &r);
  };
  std::mutex loadsLock;
  std::unordered_map<uint64_t, std::shared_ptr<Loads>> loads;  ///< by cluster; others may ask when one of its loads ended
  bool loadOver(uint64_t cluster, uint32_t actor, const Clock &known);
  std::mutex logsLock;
  std::map<uint64_t, ReadLog> logs;  ///< by the buffer's address
  ReadLog *logOf(Cluster &c, uint64_t address, uint64_t bytes);
  void close(ReadLog &log);
  mutable std::mutex notesLock;
  std::vector<UnwrittenRead> notes;

  enum class Pair : uint8_t { Race, Proxy };
  struct Place { const char *space; uint64_t address; const Cta *owner; };
  std::string describe(Cluster &c, const Place &at) const;
  /// `weakly`: a relaxed barrier stands between, a warning.
  void conflict(Cluster &c, const Mark &earlier, const Mark &now, bool earlierWrites, bool nowWrites, const Place &at, Pair kind, Warp &w, bool weakly = false);
  void touch(Cluster &c, Granule &g, bool write, const Mark &m, const View &seen, const Place &at, Warp &w);
  void touchCell(Cluster &c, GlobalCell &g, bool write, bool strong, const Mark &m, const View &seen, uint64_t address, uint32_t size, Warp &w);
  void foreignConflict(Cluster &c, const Mark &earlier, uint64_t cluster, const Mark &now, bool earlierWrites, bool nowWrites, uint64_t address, Warp &w,
                       bool sameValue);
  void noteUnwritten(uint32_t line, const Place &at);
};

} // namespace fovea::emulator
