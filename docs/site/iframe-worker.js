// The search of the site runs in a worker, which browsers refuse to pages that are opened from a
// disk. There the same script runs in a hidden frame instead, behind the interface of a worker.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      this.loaded = this.load(url)
      this.inside.importScripts = (...urls) => Promise.all(urls.map(each => this.load(each)))
    }

    load(url) {
      const script = this.inside.document.createElement("script")
      script.src = new URL(url, location.href).href
      return new Promise((done, failed) => {
        script.onload = done
        script.onerror = failed
        this.inside.document.body.append(script)
      })
    }

    postMessage(data) {
      // Messages that come before the script has loaded wait for it, in their order.
      this.loaded = this.loaded.then(() => {
        const event = new this.inside.MessageEvent("message", { data })
        this.inside.dispatchEvent(event)
      })
    }

    terminate() {
      this.inside.frameElement.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
