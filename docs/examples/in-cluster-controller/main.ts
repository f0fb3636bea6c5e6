#!/usr/bin/env node
// The in-cluster IPAM provider of Cluster API as a controller: claims, pools and addresses on an
// API server, through @kubernetes/client-node.
//
//   KUBECONFIG=... tsx main.ts [--ledger objects|blocks] [--sweep-after SECONDS]
//   [--empty-after SECONDS] [--metrics PORT] [--concurrency N]
//       [--leader-elect [--namespace NS] [--lease-duration S] [--renew-deadline S] [--retry-period
//       S]]
//
// With IPAddress objects as the ledger one of these works at a time: with --leader-elect any number
// may run, without it no other may. With blocks as the ledger all of them work at once, and none
// leads. Ends on SIGTERM and SIGINT when everything that it has begun is ended; with status 1 when
// it has lost its lease or cannot start, with 2 for wrong flags. rbac.yaml is what it may do.
import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { now } from 'ipam-kit/node'
import { blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { inClusterBlocks } from 'ipam-kit/provider/in-cluster-blocks'
import { taskCaller } from 'ipam-kit/run'
import { FlagError, isWhole, numberOf } from '../program/flags.js'
import { runProgram } from '../program/program.js'
import { FLAGS } from './flags.js'

await runProgram({
  name: 'ipam-kit-in-cluster',
  flags: FLAGS,
  work(values, { elects }) {
    const { ledger = '' } = values
    if (!['objects', 'blocks'].includes(ledger) || (ledger === 'blocks' && elects)) {
      const words = 'is objects or blocks, and blocks need no leader: leave --leader-elect out'
      throw new FlagError(`--ledger (${ledger}) ${words}`)
    }
    const graceSeconds = numberOf(values, 'sweep-after', 'seconds, 1 to 86400', (n) => isWhole(n, 1, 86_400))
    const emptySeconds = numberOf(values, 'empty-after', 'seconds, 0 to 86400', (n) => isWhole(n, 0, 86_400))
    if (ledger === 'objects') return { planners: [inCluster()] }
    const blocks = inClusterBlocks()
    return {
      planners: [
        blocks,
        blocksOperator({ emptySeconds }),
        blocksSweep({ owners: [IPAddressClaim.info], graceSeconds }),
      ],
      controller: ({ store, canWrite, identity }) => ({
        external: taskCaller({ store, tasks: blocks.tasks, now, canWrite }),
        identity,
      }),
    }
  },
})
