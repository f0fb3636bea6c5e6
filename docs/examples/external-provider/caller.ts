// The only code that talks to the external system: it carries calls out, and turns what goes wrong
// into answers.
import { handleCalls } from 'ipam-kit/provider/claims'
import type { ExternalCaller } from 'ipam-kit/run'
import type { FakeIpam } from './fake-ipam.js'
import { calls } from './provider.js'
import { answered } from './your-cloud.js'

export function callerOf(ipam: FakeIpam): ExternalCaller {
  return handleCalls(calls, {
    allocate: ({ network, name }, { key: marker }) =>
      answered(async () => {
        const request = { marker, network, name }
        let record = await ipam.allocate(request)
        if (record.network !== network) {
          // an earlier call with this key was answered after its pool had changed: that answer was
          // dropped
          await ipam.release(marker)
          record = await ipam.allocate(request)
        }
        return { address: record.address }
      }),
    release: (_, { key }) => answered(async () => ({ released: await ipam.release(key) })),
  })
}
