#include "gateway/commands.hpp"

int main(int argc, char** argv) { return viewgate::gateway::run_program(argc, argv); }
