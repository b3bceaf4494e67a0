#include "mpiexec/command_line.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <map>

#include "mpiexec/allocation.h"
#include "mpiexec/hosts.h"

namespace lapwing::launch {
namespace {

using Words = std::vector<std::string>;

CommandLine parsed(const Words& words) {
  CommandLine result;
  const Status status = parse_command_line(words, result);
  EXPECT_TRUE(status.ok()) << status.text();
  return result;
}

std::string error_of(const Words& words) {
  CommandLine result;
  const Status status = parse_command_line(words, result);
  EXPECT_FALSE(status.ok());
  return status.text();
}

TEST(CommandLine, TakesOneProgramWithItsOptions) {
  const CommandLine line = parsed({"-n", "4", "./heat", "-n", "100", "--verbose"});
  ASSERT_EQ(line.programs.size(), 1u);
  EXPECT_EQ(line.programs[0].ranks, 4);
  EXPECT_EQ(line.programs[0].arguments, (Words{"./heat", "-n", "100", "--verbose"}));
  EXPECT_FALSE(line.verbose);
  EXPECT_EQ(line.binding.bind, BindPolicy::kShare);
}

TEST(CommandLine, StartsOneRankWithoutBeingTold) {
  EXPECT_EQ(parsed({"a"}).ranks(), 1);
}

TEST(CommandLine, SeparatesProgramsByColons) {
  const CommandLine line =
      parsed({"-np", "2", "a", "1", ":", "-env", "V", "w", "--wdir", "/tmp", "-n=3", "b", ":", "c"});
  ASSERT_EQ(line.programs.size(), 3u);
  EXPECT_EQ(line.ranks(), 6);
  EXPECT_EQ(line.programs[0].arguments, (Words{"a", "1"}));
  EXPECT_EQ(line.programs[1].ranks, 3);
  EXPECT_EQ(line.programs[1].directory, "/tmp");
  EXPECT_EQ(line.programs[1].environment, (std::vector<Variable>{{"V", "w"}}));
  EXPECT_TRUE(line.programs[0].environment.empty());
}

TEST(CommandLine, GivesJobVariablesToAllPrograms) {
  const CommandLine line = parsed({"-x", "A=1=2", "a", ":", "-genv", "B", "", "-env", "A", "3", "b"});
  EXPECT_EQ(line.programs[0].environment, (std::vector<Variable>{{"A", "1=2"}, {"B", ""}}));
  EXPECT_EQ(line.programs[1].environment, (std::vector<Variable>{{"A", "1=2"}, {"B", ""}, {"A", "3"}}));
}

TEST(CommandLine, ExportsVariablesThatAreSet) {
  ASSERT_EQ(::setenv("COMMAND_LINE_TEST", "here", 1), 0);
  EXPECT_EQ(parsed({"-x", "COMMAND_LINE_TEST", "a"}).programs[0].environment,
            (std::vector<Variable>{{"COMMAND_LINE_TEST", "here"}}));
  EXPECT_NE(error_of({"-x", "COMMAND_LINE_TEST_NOT_SET", "a"}).find("is not set"), std::string::npos);
}

TEST(CommandLine, LetsTheOthersGoOnWhenAskedTo) {
  EXPECT_FALSE(parsed({"a"}).others_go_on);
  for (const char* option : {"-disable-auto-cleanup", "--continuous", "--enable-recovery"}) EXPECT_TRUE(parsed({option, "a"}).others_go_on) << option;
}

TEST(CommandLine, KnowsItsFlags) {
  const CommandLine line =
      parsed({"-l", "-v", "--bind-to", "core", "--timeout", "2.5", "--oversubscribe", "--", "-odd"});
  EXPECT_TRUE(line.label);
  EXPECT_TRUE(line.verbose);
  EXPECT_EQ(line.binding.bind, BindPolicy::kCore);
  EXPECT_EQ(line.timeout, 2.5);
  EXPECT_EQ(line.programs[0].arguments, (Words{"-odd"}));
  EXPECT_TRUE(parsed({"--help"}).show_help);
  EXPECT_TRUE(parsed({"--version"}).show_version);
}

TEST(CommandLine, RefusesWhatItDoesNotUnderstand) {
  EXPECT_NE(error_of({}).find("no program"), std::string::npos);
  EXPECT_NE(error_of({"-n", "2"}).find("no program"), std::string::npos);
  EXPECT_NE(error_of({"a", ":"}).find("no program"), std::string::npos);
  EXPECT_NE(error_of({"-n"}).find("needs a value"), std::string::npos);
  EXPECT_NE(error_of({"-n", "0", "a"}).find("'0'"), std::string::npos);
  EXPECT_NE(error_of({"-n", "2x", "a"}).find("'2x'"), std::string::npos);
  EXPECT_NE(error_of({"--frobnicate", "a"}).find("--frobnicate"), std::string::npos);
  EXPECT_NE(error_of({"--bind-to", "gpu", "a"}).find("socket"), std::string::npos);
  EXPECT_NE(error_of({"--label-output=2", "a"}).find("takes no value"), std::string::npos);
  EXPECT_NE(error_of({"-x", "=v", "a"}).find("not the name"), std::string::npos);
  EXPECT_NE(error_of({"--timeout", "-1", "a"}).find("-1"), std::string::npos);
}

class TextFile {
 public:
  explicit TextFile(const std::string& content) {
    const int fd = ::mkstemp(path_);
    EXPECT_EQ(::write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
    ::close(fd);
  }
  ~TextFile() { ::unlink(path_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/launch_test.XXXXXX";
};

bool has_note(const CommandLine& line, const std::string& text) {
  for (const std::string& note : line.notes) {
    if (note.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST(CommandLine, TakesHostsThatAreThisMachine) {
  EXPECT_EQ(parsed({"-host", "localhost", "a"}).slots, 1);
  EXPECT_EQ(parsed({"--host", "localhost:4," + name_of_this_machine() + ",127.0.0.1:2", "a"}).slots, 7);
  EXPECT_EQ(parsed({"-hosts", "::1", "a"}).slots, 1);
  EXPECT_EQ(parsed({"-hosts", "[::1]", "a"}).slots, 1);
  EXPECT_EQ(parsed({"-hosts", "[::1]:2,localhost", "a"}).slots, 3);
  const TextFile file("# all here\nlocalhost:2\n\nlocalhost slots=3 max_slots=4\n127.0.0.1\n");
  for (const char* option : {"-hostfile", "-machinefile", "-f"}) EXPECT_EQ(parsed({option, file.path(), "a"}).slots, 6);
}

TEST(CommandLine, WordsOfAHostFileMayHaveBlanksAndMustBeKnown) {
  const TextFile blanks("localhost slots = 4 # four\nlocalhost slots= 2\tmax_slots =8\n");
  EXPECT_EQ(parsed({"-hostfile", blanks.path(), "a"}).slots, 6);
  const TextFile unknown("localhost solts=4\n");
  EXPECT_NE(error_of({"-hostfile", unknown.path(), "a"}).find("'solts=4' is no word"), std::string::npos);
}

TEST(CommandLine, SendsJobsOnSeveralHostsElsewhere) {
  EXPECT_NE(error_of({"-host", "localhost,no-such-machine.invalid:2", "a"}).find("no-such-machine.invalid is not"),
            std::string::npos);
  EXPECT_NE(error_of({"-host", "no-such-machine.invalid", "a"}).find("Hydra"), std::string::npos);
  const TextFile file("no-such-machine.invalid slots=2\n");
  EXPECT_NE(error_of({"-hostfile", file.path(), "a"}).find("Hydra"), std::string::npos);
  EXPECT_NE(error_of({"-hostfile", "/no/such/file", "a"}).find("cannot read"), std::string::npos);
  EXPECT_NE(error_of({"-host", "localhost:x", "a"}).find("'x'"), std::string::npos);
}

TEST(CommandLine, SaysWhatToUseInsteadOfForeignOptions) {
  EXPECT_TRUE(parsed({"--oversubscribe", "--allow-run-as-root", "-genvlist", "A,B", "a"}).notes.empty());
  const CommandLine line = parsed({"--mca", "btl_tcp_if_include", "eth0", "--mca", "btl", "tcp,self", "-launcher",
                                   "ssh", "-launcher", "ssh", "-iface", "eth1", "-np", "2", "a"});
  EXPECT_EQ(line.programs[0].ranks, 2);
  EXPECT_EQ(line.notes.size(), 4u);
  EXPECT_TRUE(has_note(line, "LAPWING_TCP_INTERFACE=eth0"));
  EXPECT_TRUE(has_note(line, "LAPWING_TRANSPORTS"));
  EXPECT_TRUE(has_note(line, "-launcher"));
  EXPECT_NE(error_of({"--rankfile", "r", "a"}).find("--map-by"), std::string::npos);
  EXPECT_NE(error_of({"--mca", "btl"}).find("needs a value"), std::string::npos);
}

TEST(CommandLine, TakesPlacesAndFiles) {
  const CommandLine line = parsed({"--map-by", "socket:PE=2", "--bind-to=core", "--report-bindings", "-outfile-pattern",
                                   "o.%r", "-errfile-pattern", "e.%r", "-N", "3", "a"});
  EXPECT_EQ(line.binding.map, BindPolicy::kSocket);
  EXPECT_EQ(line.binding.width, 2);
  EXPECT_TRUE(line.report_bindings);
  EXPECT_EQ(line.output_patterns[0], "o.%r");
  EXPECT_EQ(line.output_patterns[1], "e.%r");
  EXPECT_EQ(line.ranks_per_host, 3);
  EXPECT_TRUE(parsed({"--output", "tag", "a"}).label);
  EXPECT_EQ(parsed({"--output", "file=o", "a"}).output_patterns[1], "o.%r.err");
  EXPECT_NE(error_of({"--output", "xml", "a"}).find("neither tag"), std::string::npos);
  EXPECT_TRUE(parsed({"--display", "bindings", "a"}).report_bindings);
  EXPECT_EQ(parsed({"--pernode", "a"}).ranks_per_host, 1);
  EXPECT_EQ(parsed({"--npersocket", "2", "a"}).binding.per_unit, 2);
}

TEST(CommandLine, TakesTheErrorHandlerThatRanksBeginWith) {
  const std::vector<Variable> set{{"LAPWING_INITIAL_ERRHANDLER", "mpi_errors_return"}};
  EXPECT_EQ(parsed({"-initial-errhandler", "mpi_errors_return", "-n", "2", "a"}).programs[0].environment, set);
  EXPECT_NE(error_of({"-initial-errhandler", "return", "a"}).find("is not mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return"), std::string::npos);
}

TEST(CommandLine, TakesProgramsFromAFile) {
  const TextFile file("# programs\n-n 2 a \"one word\"\n\n-n 3 -env A \\\n1 b it\\'s\n");
  const CommandLine line = parsed({"-genv", "G", "g", "-configfile", file.path()});
  ASSERT_EQ(line.programs.size(), 2u);
  EXPECT_EQ(line.programs[0].arguments, (Words{"a", "one word"}));
  EXPECT_EQ(line.programs[1].ranks, 3);
  EXPECT_EQ(line.programs[1].arguments, (Words{"b", "it's"}));
  EXPECT_EQ(line.programs[1].environment, (std::vector<Variable>{{"G", "g"}, {"A", "1"}}));
  EXPECT_NE(error_of({"-configfile", "/no/such/file"}).find("cannot read"), std::string::npos);
  EXPECT_NE(error_of({"-configfile", "/"}).find("cannot read /: Is a directory"), std::string::npos);
  EXPECT_NE(error_of({"-configfile", file.path(), "another"}).find("'another' behind it belongs to none"), std::string::npos);
  const TextFile open_quote("-n 2 a \"one\n");
  EXPECT_NE(error_of({"-configfile", open_quote.path()}).find("ends within a quotation"), std::string::npos);
}

TEST(CommandLine, TakesTheLastProgramOfAFileThatEndsInABackslash) {
  const TextFile file("-n 1 a\n-n 2 b \\");
  const CommandLine line = parsed({"-configfile", file.path()});
  ASSERT_EQ(line.programs.size(), 2u);
  EXPECT_EQ(line.programs[1].ranks, 2);
  EXPECT_EQ(line.programs[1].arguments, Words{"b"});
}

TEST(CommandLine, TakesAFileWhoseLinesEndAsOnWindows) {
  const TextFile file("# programs\r\n\r\n-n 1 \\\r\na\r\n-n 2 b\r\n");
  const CommandLine line = parsed({"-configfile", file.path()});
  ASSERT_EQ(line.programs.size(), 2u);
  EXPECT_EQ(line.programs[0].arguments, Words{"a"});
  EXPECT_EQ(line.programs[1].arguments, Words{"b"});
}

TEST(CommandLine, TakesAnEmptyFirstWordOfAFile) {
  const TextFile file("\"\" a\n");
  EXPECT_EQ(parsed({"-configfile", file.path()}).programs[0].arguments, (Words{"", "a"}));
}

TEST(CommandLine, HasATimeLimitFromTheEnvironment) {
  ASSERT_EQ(::setenv("MPIEXEC_TIMEOUT", "30", 1), 0);
  EXPECT_EQ(parsed({"a"}).timeout, 30);
  EXPECT_EQ(parsed({"--timeout", "5", "a"}).timeout, 5);
  ASSERT_EQ(::setenv("MPIEXEC_TIMEOUT", "-1", 1), 0);
  EXPECT_EQ(parsed({"a"}).timeout, 0);
  ASSERT_EQ(::setenv("MPIEXEC_TIMEOUT", "soon", 1), 0);
  EXPECT_NE(error_of({"a"}).find("MPIEXEC_TIMEOUT"), std::string::npos);
  ASSERT_EQ(::unsetenv("MPIEXEC_TIMEOUT"), 0);
}

TEST(CommandLine, HelpNamesEveryOptionOnce) {
  const std::string text = usage_text();
  for (const char* option : {"  -n COUNT", "  --bind-to UNIT", "  --configfile FILE", "  --timeout SECONDS"}) {
    const std::size_t found = text.find(option);
    EXPECT_NE(found, std::string::npos) << option;
    EXPECT_EQ(text.find(option, found + 1), std::string::npos) << option;
  }
}

// ---- batch systems --------------------------------------------------------------------------------------------------

using Variables = std::map<std::string, std::string>;

Allocation allocation_of(const Variables& variables) {
  return read_allocation([&](const char* name) {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second.c_str() : nullptr;
  });
}

// Two sockets with a memory node, two caches and four cores each; two hardware threads per core.
Machine machine_of_two_sockets() {
  Machine machine;
  for (int core = 0; core < 8; ++core) machine.cores.push_back({core / 4, core / 4, core, {core, core + 8}, core / 2});
  machine.processors = 16;
  return machine;
}

std::string refusal(const Words& words, const Variables& variables) {
  CommandLine line = parsed(words);
  const Status status = place(line, allocation_of(variables), machine_of_two_sockets);
  EXPECT_FALSE(status.ok());
  return status.text();
}

std::vector<int> placed(const Words& words, const Variables& variables) {
  CommandLine line = parsed(words);
  const Status status = place(line, allocation_of(variables), machine_of_two_sockets);
  EXPECT_TRUE(status.ok()) << status.text();
  std::vector<int> ranks;
  for (const Program& program : line.programs) ranks.push_back(program.ranks);
  return ranks;
}

const Variables kSlurmNode = {{"SLURM_JOB_ID", "7"},
                              {"SLURM_JOB_NUM_NODES", "1"},
                              {"SLURM_NTASKS", "6"},
                              {"SLURM_JOB_NODELIST", "node1"},
                              {"SLURMD_NODENAME", "node1"}};

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

TEST(Allocation, OfSeveralNodesIsRefused) {
  const Variables slurm = with(kSlurmNode, "SLURM_JOB_NUM_NODES", "3");
  EXPECT_NE(refusal({"-n", "4", "a"}, slurm).find("srun --mpi=pmi2"), std::string::npos);
  EXPECT_NE(refusal({"-n", "4", "a"}, slurm).find("3 nodes"), std::string::npos);
  EXPECT_EQ(placed({"-n", "4", "-host", "localhost", "a"}, slurm), std::vector<int>{4});
  const TextFile nodes("node1\nnode1\nnode2\n");
  EXPECT_NE(refusal({"a"}, {{"PBS_NODEFILE", nodes.path()}}).find("PBS allocation has 2 nodes"), std::string::npos);
  EXPECT_NE(refusal({"a"}, {{"LSB_MCPU_HOSTS", "node1 4 node2 4"}}).find("Hydra"), std::string::npos);
  const TextFile grid("node1 4 all.q@node1 UNDEFINED\nnode2 4 all.q@node2 UNDEFINED\n");
  EXPECT_NE(refusal({"a"}, {{"PE_HOSTFILE", grid.path()}}).find("Grid Engine"), std::string::npos);
}

TEST(Allocation, OfOneNodeSaysHowManyRanks) {
  EXPECT_EQ(placed({"a"}, kSlurmNode), std::vector<int>{6});
  EXPECT_EQ(placed({"-n", "2", "a"}, kSlurmNode), std::vector<int>{2});
  EXPECT_EQ(placed({"a", ":", "-n", "2", "b"}, kSlurmNode), (std::vector<int>{1, 2}));
  EXPECT_EQ(placed({"a"}, {{"SLURM_JOB_ID", "7"}, {"SLURMD_NODENAME", "n"}, {"SLURM_TASKS_PER_NODE", "5(x1)"}}),
            std::vector<int>{5});
  const TextFile nodes("node1\nnode1\nnode1\n");
  EXPECT_EQ(placed({"a"}, {{"PBS_NODEFILE", nodes.path()}}), std::vector<int>{3});
  EXPECT_EQ(placed({"a"}, {{"PBS_NODEFILE", nodes.path()}, {"PBS_NP", "2"}}), std::vector<int>{2});
  EXPECT_EQ(placed({"a"}, {{"LSB_MCPU_HOSTS", "node1 4"}}), std::vector<int>{4});
  EXPECT_EQ(placed({"a"}, {}), std::vector<int>{1});
}

TEST(Allocation, AFileThatCannotBeReadTellsNoNumberOfRanks) {
  const Variables pbs = {{"PBS_NODEFILE", "/no/such/file"}};
  EXPECT_NE(refusal({"a"}, pbs).find("PBS says how many ranks there are to be, /no/such/file: No such file"), std::string::npos);
  EXPECT_EQ(placed({"-n", "2", "a"}, pbs), std::vector<int>{2});
  EXPECT_EQ(placed({"a"}, with(pbs, "PBS_NP", "3")), std::vector<int>{3});
}

TEST(Allocation, InsideAStepTheStepCounts) {
  const Variables step = with(with(with(kSlurmNode, "SLURM_JOB_NUM_NODES", "3"), "SLURM_STEP_NUM_NODES", "1"),
                              "SLURM_STEP_NUM_TASKS", "2");
  EXPECT_EQ(placed({"a"}, with(step, "SLURM_STEP_ID", "0")), std::vector<int>{2});
  // The shell that salloc opens on the first node is a step of one node as well.
  EXPECT_NE(refusal({"a"}, with(step, "SLURM_STEP_ID", "4294967290")).find("3 nodes"), std::string::npos);
}

TEST(Allocation, ElsewhereIsRefused) {
  const Variables login = {
      {"SLURM_JOB_ID", "7"}, {"SLURM_NNODES", "1"}, {"SLURM_JOB_NODELIST", "no-such-node.invalid"}};
  EXPECT_NE(refusal({"a"}, login).find("is not this machine"), std::string::npos);
  EXPECT_EQ(placed({"-host", "localhost", "a"}, login), std::vector<int>{1});
  EXPECT_EQ(placed({"a"}, with(login, "SLURM_JOB_NODELIST", name_of_this_machine())), std::vector<int>{1});
}

TEST(Allocation, RanksPerHostAreRanksHere) {
  EXPECT_EQ(placed({"-ppn", "3", "a"}, {}), std::vector<int>{3});
  EXPECT_EQ(placed({"-host", "localhost:5", "a"}, kSlurmNode), std::vector<int>{5});
  CommandLine line = parsed({"-ppn", "2", "-n", "8", "a"});
  ASSERT_TRUE(place(line, {}, machine_of_two_sockets).ok());
  EXPECT_TRUE(has_note(line, "all 8 ranks are on this machine, not 2"));
}

TEST(Allocation, RanksPerUnitFillAllUnits) {
  const std::pair<const char*, int> counts[] = {{"ppr:2:socket", 4}, {"ppr:3:numa", 6}, {"ppr:1:l3cache", 4}, {"ppr:2:core", 16},
                                                {"ppr:1:hwthread", 16}, {"ppr:5:node", 5}};
  for (const auto& [mapping, ranks] : counts) EXPECT_EQ(placed({"--map-by", mapping, "a"}, {}), std::vector<int>{ranks}) << mapping;
  EXPECT_EQ(placed({"-npersocket", "2", "a"}, {}), std::vector<int>{4});
  EXPECT_EQ(placed({"-npersocket", "2", "a"}, kSlurmNode), std::vector<int>{4});
  EXPECT_EQ(placed({"--map-by", "ppr:2:socket", "--map-by", "slot", "a"}, {}), std::vector<int>{1}) << "the last one counts";
}

TEST(Allocation, ANumberOfRanksGoesBeforeRanksPerUnit) {
  EXPECT_EQ(placed({"-n", "3", "--map-by", "ppr:2:socket", "a"}, {}), std::vector<int>{3});
  EXPECT_EQ(placed({"-ppn", "3", "--map-by", "ppr:2:socket", "a"}, {}), std::vector<int>{3});
  EXPECT_EQ(placed({"-host", "localhost:3", "--map-by", "ppr:2:socket", "a"}, {}), std::vector<int>{3});
  EXPECT_EQ(placed({"-npersocket", "2", "-n", "1", "a", ":", "-n", "2", "b"}, {}), (std::vector<int>{1, 2}));
}

TEST(Allocation, RanksPerUnitThatDoNotTellHowManyAreRefused) {
  EXPECT_NE(refusal({"-npersocket", "2", "a", ":", "b"}, {}).find("give every program its -n"), std::string::npos);
  EXPECT_NE(refusal({"-host", "localhost:4", "-npersocket", "2", "a", ":", "b"}, {}).find("give every program its -n"), std::string::npos);
  EXPECT_NE(refusal({"--map-by", "ppr:100000:socket", "a"}, {}).find("too many"), std::string::npos);
  CommandLine line = parsed({"-npersocket", "2", "a"});
  EXPECT_NE(std::string(place(line, {}, [] { return Machine(); }).text()).find("give -n"), std::string::npos);
}

}  // namespace
}  // namespace lapwing::launch
