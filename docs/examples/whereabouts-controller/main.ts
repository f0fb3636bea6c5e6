#!/usr/bin/env node
// The controllers of whereabouts, on an API server, through @kubernetes/client-node. They take the
// place of ip-reconciler, of the Pod watcher in each node's agent, and of node-slice-controller.
//
//   KUBECONFIG=... tsx main.ts [--no-sweep] [--no-node-slices] [--pool-namespace NS]
//   [--all-namespaces] [--grace SECONDS] [--completed-pods keep|free] [--evicted-pods keep|free]
//   [--no-claims] [--create-reservations] [--metrics PORT] [--concurrency N]
//   [--blocks [--namespaced] [--sweep-after SECONDS] [--empty-after SECONDS]]
//       [--leader-elect [--namespace NS] [--lease-duration S] [--renew-deadline S] [--retry-period
//       S]]
//
// The sweep frees the addresses of Pods that do not exist any more, at once. It needs no
// NetworkAttachmentDefinitions. With --blocks, networks of the type ipam-kit get their pools, and
// rows of blocks are removed when their Pods do not exist. One process at a time works: with
// --leader-elect any number may run, without it no other may. Ends within 2 seconds of SIGTERM and
// SIGINT; with status 1 when it has lost its lease or cannot start, with 2 for wrong flags.
// rbac.yaml is what it may do.
import { runProgram } from '../program/program.js'
import { FLAGS, plannersOf } from './flags.js'

await runProgram({
  name: 'ipam-kit-whereabouts',
  flags: FLAGS,
  mostEndingMs: 1500,
  work: (values) => ({ planners: plannersOf(values, process.env) }),
})
