#!/usr/bin/env node
// The side of the network of persistent IPs: addresses of claims and of Pods, on an API server,
// through @kubernetes/client-node. It takes the place of the cluster manager of OVN-Kubernetes, in
// networks of layer2 and localnet.
//
//   KUBECONFIG=... tsx addresses.ts [--no-enabled] [--terminating-claims refuse|serve]
//   [--static-requests] [--default-network-namespace NS] [--stretched NETWORK,...]
//   [--metrics PORT] [--concurrency N]
//   [--ledger blocks [--sweep-after SECONDS] [--empty-after SECONDS]]
//       [--leader-elect [--namespace NS] [--lease-duration S] [--renew-deadline S] [--retry-period
//       S]]
//
// One process at a time works: with --leader-elect any number may run, without it no other may.
// With --ledger blocks all of them work at once, and none leads. With --no-enabled nothing is
// written, and claims hold what they have. Ends within 2 seconds of SIGTERM and SIGINT; with status
// 1 when it has lost its lease or cannot start, with 2 for wrong flags. rbac.yaml is what it may do.
import { runProgram } from '../program/program.js'
import { ClaimFigures } from './figures.js'
import { ADDRESS_FLAGS, addressWorkOf } from './flags.js'

await runProgram({
  name: 'ipam-kit-persistent-ips',
  flags: ADDRESS_FLAGS,
  mostEndingMs: 1500,
  work: (values, settings) => ({ ...addressWorkOf(values, settings), figures: new ClaimFigures('IPAMClaim', 'Pod') }),
})
