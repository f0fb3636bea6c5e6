// A process that carries out one ADD as whereabouts does: see upstream.ts
import { readFileSync } from 'node:fs'
import { Client } from '../../test/real/controller/client.js'
import type { KubeAccess } from '../../test/real/servers/kube-api.js'
import { addAsUpstream } from './upstream.js'

const [access, pool, name] = process.argv.slice(2) as [string, string, string]
const client = new Client(JSON.parse(readFileSync(access, 'utf8')) as KubeAccess, 1)
const requests = await addAsUpstream(client, pool, {
  id: name.padEnd(64, '0'),
  podref: `default/${name}`,
  ifname: 'net1',
})
process.stdout.write(`${requests}\n`, () => process.exit(0))
