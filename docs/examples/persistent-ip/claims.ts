#!/usr/bin/env node
// The side of the workload of persistent IPs: claims of virtual machines and of other workloads, on
// an API server, through @kubernetes/client-node. It takes the place of ipam-extensions.
//
//   KUBECONFIG=... tsx claims.ts [--no-enabled] [--no-kubevirt] [--owners GROUP/VERSION/PLURAL/KIND,...]
//   [--unplugged keep|delete] [--missed-mutations ignore|report] [--grace SECONDS]
//   [--webhook PORT] [--certificates FOLDER] [--failure-policy Ignore|Fail] [--metrics PORT]
//   [--concurrency N]
//       [--leader-elect [--namespace NS] [--lease-duration S] [--renew-deadline S] [--retry-period
//       S]]
//
// One process at a time makes claims: with --leader-elect any number may run, without it no other
// may. Each of them serves the webhook, over HTTPS. With --no-enabled no claim is made, existing
// ones are released as before, and the webhook allows each Pod as it is. Ends within 2 seconds of
// SIGTERM and SIGINT; with status 1 when it has lost its lease or cannot start, with 2 for wrong
// flags. rbac.yaml is what it may do.
import { runProgram } from '../program/program.js'
import { ClaimFigures } from './figures.js'
import { CLAIM_FLAGS, claimWorkOf } from './flags.js'
import { serveWebhook } from './webhook.js'

await runProgram({
  name: 'ipam-kit-persistent-claims',
  flags: CLAIM_FLAGS,
  mostEndingMs: 1500,
  work(values) {
    const { planners, keyKinds, webhook } = claimWorkOf(values)
    const figures = new ClaimFigures(...keyKinds)
    if (webhook === undefined) return { planners, figures }
    return { planners, figures, kinds: webhook.watches, serve: (parts) => serveWebhook({ ...parts, ...webhook }) }
  },
})
