#!/usr/bin/env node
// Subnets for the Pods of Nodes, as a controller on an API server, through @kubernetes/client-node.
// It takes the place of node-ipam-controller, and with --ranges flags that of the loop
// node-ipam-controller of kube-controller-manager.
//
//   KUBECONFIG=... tsx main.ts [--ranges objects] [--order numeric|upstream] [--cluster-cidr
//   CIDR[,CIDR]] [MASKS] [MORE] KUBECONFIG=... tsx main.ts --ranges flags --cluster-cidr
//   CIDR[,CIDR] [MASKS] [MORE]
//
//   MASKS: --node-cidr-mask-size N, or --node-cidr-mask-size-ipv4 N and --node-cidr-mask-size-ipv6 N
//   MORE:  --service-cluster-ip-range CIDR[,CIDR], --watch-service-cidrs, --network NAME, --metrics PORT, --concurrency N,
//          --leader-elect [--namespace NS] [--lease-duration S] [--renew-deadline S]
//          [--retry-period S]
//
// One process at a time works: with --leader-elect any number may run, without it no other may.
// Ends on SIGTERM and SIGINT when everything that it has begun is ended; with status 1 when it has
// lost its lease or cannot start, with 2 for wrong flags. rbac.yaml is what it may do.
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { runProgram } from '../program/program.js'
import { SubnetFigures } from './figures.js'
import { FLAGS, planOf } from './flags.js'

await runProgram({
  name: 'ipam-kit-node-ipam',
  flags: FLAGS,
  work(values) {
    const { options, warnings, parity } = planOf(values)
    const planner = nodeIPAM(options)
    return { planners: [planner], figures: new SubnetFigures(planner, parity), warnings }
  },
})
