#!/usr/bin/env node
// The webhook of Cluster API's claims and addresses and of in-cluster pools, over HTTPS: an API
// server posts reviews, and gets their answers.
//
//   KUBECONFIG=... tsx webhook.ts --certificates FOLDER [--port 9443]
//
// FOLDER has tls.crt and tls.key, as a Secret of cert-manager has them. What rules look up, such as
// the addresses of a pool, is read from the cluster, through @kubernetes/client-node. Any number of
// processes may serve it. It ends on SIGTERM and SIGINT; with status 2 for wrong flags.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { poolModels } from 'ipam-kit/crd/in-cluster'
import { answerReview } from 'ipam-kit/provider/webhook'
import { openStore } from './open-store.js'
import { FlagError, isWhole, numberOf, parseFlags } from './program/flags.js'
import { reviewListener } from './program/reviews.js'

// kinds that the cluster must have: those that its webhook configuration registers
const kinds = [IPAddressClaim, IPAddress, ...poolModels].map((model) => model.info)

const FLAGS = {
  certificates: { type: 'string', default: '/certificates', about: 'the folder of `tls.crt` and `tls.key`' },
  port: { type: 'string', default: '9443', about: 'the port, on all interfaces' },
} as const

try {
  const values = parseFlags(FLAGS, process.argv.slice(2))
  const port = numberOf(values, 'port', 'a port from 1 to 65535', (n) => isWhole(n, 1, 65_535))
  const certificate = certificateIn(values.certificates)
  const cluster = { engine: 'kubernetes', place: '' } as const
  const { store, close } = await openStore(cluster, { kinds, load: (name) => import(name) })
  const server = createServer(
    certificate,
    reviewListener((review) => answerReview(review, store)),
  )
  server.listen(port)
  await once(server, 'listening')
  console.log(`answers reviews on port ${port}`)
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
  server.close()
  server.closeIdleConnections()
  await once(server, 'close')
  await close()
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = error instanceof FlagError ? 2 : 1
}

/** @throws FlagError */
function certificateIn(folder: string): { readonly cert: string; readonly key: string } {
  try {
    const [cert = '', key = ''] = ['tls.crt', 'tls.key'].map((name) => readFileSync(join(folder, name), 'utf8'))
    return { cert, key }
  } catch (error) {
    throw new FlagError(`--certificates (${folder}): ${(error as Error).message}`)
  }
}
