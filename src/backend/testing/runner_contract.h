// The normative text of backend/runner.h: tests that every Runner passes, bit for bit unless a test
// says otherwise. A backend's test file includes this header once and says, in namespace
// slip::contract, what to run it on:
//
//   INSTANTIATE_TEST_SUITE_P(Cpu, RunnerContract, testing::ValuesIn(cases()), case_name);
//   INSTANTIATE_TEST_SUITE_P(Cpu, RunnerDraftContract, testing::ValuesIn(cases()), case_name);  //
//   models with a draft head
//
// Each header below is one part of the contract; a new promise in runner.h comes with a test in one
// of them.
#pragma once

#include "backend/testing/contract_draft_head.h"
#include "backend/testing/contract_fixture.h"
#include "backend/testing/contract_states.h"
#include "backend/testing/contract_steps.h"
